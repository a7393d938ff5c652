"""Bytes by key over fsspec: `file://` on one machine, `hdfs://` on a cluster."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, cast

from orchard.blobs import filesystem as filesystems
from orchard.errors import BadInput, NotFound, TryAgain

_FORBIDDEN = set("\\\0*?[]:")
_SPOOL_BYTES = 8 * 1024 * 1024
_CHUNK = 1024 * 1024


@dataclass(frozen=True)
class Stored:
    """A file or folder in the store.

    Attributes:
        bytes: size of a file; 0 for a folder.
        modified: when it was written last.
    """

    key: str
    is_folder: bool
    bytes: int
    modified: datetime


class Blobs:
    """Bytes by key below one root.

    A key is a relative path of plain parts joined by `/`. A write is visible whole or not at all:
    it goes to a temporary name beside the goal and is renamed.

    Args:
        root: URI of the folder that holds everything, such as `file:///data/blobs`.
    """

    def __init__(self, root: str) -> None:
        self.root = root.rstrip("/")
        with self._translated(""):
            self._filesystem, self._base = filesystems.filesystem_of(self.root)

    def __reduce__(self) -> tuple[type[Blobs], tuple[str]]:
        return (Blobs, (self.root,))

    def url(self, key: str) -> str:
        """The full URI of a key, as Spark and other engines take it."""
        self._path(key)
        return f"{self.root}/{key}"

    def read(self, key: str) -> bytes:
        """All bytes of a key. Raises NotFound."""
        with self._translated(key), self._filesystem.open(self._path(key), "rb") as file:
            return cast(bytes, file.read())

    def open(self, key: str) -> IO[bytes]:
        """A readable, seekable file. Raises NotFound."""
        with self._translated(key):
            return cast(IO[bytes], self._filesystem.open(self._path(key), "rb"))

    def write(self, key: str, payload: bytes) -> None:
        """Store bytes under a key, replacing what was there, whole or not at all."""
        with self.writing(key) as file:
            file.write(payload)

    @contextlib.contextmanager
    def writing(self, key: str) -> Iterator[IO[bytes]]:
        """A file to write to; it takes its key's place when the block ends without an error.

        Where the store is another machine's, the file lies on this disk until then, so that it can
        be sent again when the store loses a part of it.
        """
        if not filesystems.is_local(self._filesystem):
            self._path(key)
            with tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES) as spool:
                yield cast(IO[bytes], spool)
                self.send(key, cast(IO[bytes], spool))
            return
        with self._place(key) as (temporary, path):
            with self._filesystem.open(temporary, "wb") as file:
                yield cast(IO[bytes], file)
            filesystems.replace(self._filesystem, temporary, path)

    def send(self, key: str, file: IO[bytes]) -> None:
        """Store all bytes of a seekable local file under a key, whole or not at all."""
        with self._place(key) as (temporary, path):
            filesystems.send(self._filesystem, file, temporary, path)

    @contextlib.contextmanager
    def _place(self, key: str) -> Iterator[tuple[str, str]]:
        """A temporary path beside a key's and the key's own; nothing stays of what goes wrong."""
        path = self._path(key)
        folder = path.rsplit("/", 1)[0]
        temporary = f"{folder}/.{uuid.uuid4().hex}.tmp"
        with self._translated(key):
            self._filesystem.makedirs(folder, exist_ok=True)
            try:
                yield temporary, path
            except BaseException:
                filesystems.remove_quietly(self._filesystem, temporary)
                raise

    def read_json(self, key: str) -> Any:
        """A JSON value. Raises NotFound."""
        return json.loads(self.read(key))

    def write_json(self, key: str, value: Any) -> None:
        """Store a JSON value with sorted keys."""
        text = json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
        self.write(key, text.encode())

    def exists(self, key: str) -> bool:
        """Whether a file or folder of this key exists."""
        with self._translated(key):
            return bool(self._filesystem.exists(self._path(key)))

    def size(self, key: str) -> int:
        """Size of a file in bytes. Raises NotFound."""
        with self._translated(key):
            return int(self._filesystem.size(self._path(key)))

    def list(self, prefix: str) -> list[str]:
        """Keys of the files and folders directly below a folder, sorted; [] where it is absent."""
        keys = (each.key for each in self.entries(prefix))
        return [key for key in keys if not key.endswith(".tmp")]

    def entries(self, prefix: str) -> Sequence[Stored]:
        """What lies directly below a folder, sorted, also what is not complete; [] where absent."""
        with self._translated(prefix):
            try:
                found = self._filesystem.ls(self._path(prefix), detail=True)
            except FileNotFoundError:
                return []
        return sorted((_stored(prefix, each) for each in found), key=lambda each: each.key)

    def weigh(self, key: str) -> Stored:
        """A file or folder with the size of all below it and the time of its newest change.

        Raises NotFound.
        """
        with self._translated(key):
            one = _stored(key.rpartition("/")[0], self._filesystem.info(self._path(key)))
        if not one.is_folder:
            return one
        below = [self.weigh(each.key) for each in self.entries(key)]
        newest = max((one.modified, *(each.modified for each in below)))
        return Stored(key, True, sum(each.bytes for each in below), newest)

    def delete(self, key: str) -> None:
        """Remove a file or a folder with all below it; nothing happens where it is absent."""
        path = self._path(key)
        with self._translated(key), contextlib.suppress(FileNotFoundError):
            self._filesystem.rm(path, recursive=True)

    def rename_folder(self, source: str, goal: str) -> bool:
        """Move a folder to a place that is free. False where the goal exists; then it stays."""
        with self._translated(source):
            return filesystems.rename_folder(self._filesystem, self._path(source), self._path(goal))

    def upload_folder(self, folder: Path, key: str) -> None:
        """Copy a local folder so that it appears under the key whole, unless it is there already.

        Used for folders named by their content: a folder that exists is the same folder.
        """
        if self.exists(key):
            return
        parent, name = key.rsplit("/", 1)
        staging = f"{parent}/.{name}.{uuid.uuid4().hex[:8]}.tmp"
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                with path.open("rb") as file:
                    self.send(f"{staging}/{path.relative_to(folder).as_posix()}", file)
        if not self.rename_folder(staging, key):
            self.delete(staging)

    def download_folder(self, key: str, folder: Path) -> None:
        """Copy a folder of blobs to a local folder that appears whole, unless it is there already.

        Raises NotFound where the key is absent.
        """
        if folder.exists():
            return
        if not self.exists(key):
            raise NotFound("This folder does not exist", value=key)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".download-") as temporary:
            staging = Path(temporary) / "content"
            self._copy_down(key, staging)
            with contextlib.suppress(OSError):
                staging.rename(folder)
        if not folder.exists():
            raise TryAgain("A folder could not be copied", value=key)

    def _copy_down(self, key: str, folder: Path) -> None:
        """Not fsspec's `get`: that leaves out, without a word, a folder that cannot be listed."""
        folder.mkdir()
        for each in self.entries(key):
            goal = folder / each.key.rsplit("/", 1)[1]
            if each.is_folder:
                self._copy_down(each.key, goal)
                continue
            with self.open(each.key) as source, goal.open("wb") as copy, self._translated(each.key):
                shutil.copyfileobj(source, copy, _CHUNK)

    def _path(self, key: str) -> str:
        parts = key.split("/")
        # fsspec takes `*?[` for patterns, so that removing one key could remove others
        if any(part in ("", ".", "..") for part in parts) or set(key) & _FORBIDDEN:
            raise BadInput("A blob key must be a plain relative path", value=key)
        return f"{self._base}/{key}"

    @contextlib.contextmanager
    def _translated(self, key: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise NotFound("These bytes do not exist", value=key) from error
        except OSError as error:
            raise TryAgain(
                f"The store of bytes could not be used: {error}",
                value=self.root,
                way_out="See whether the disk is full or the store is away, then try again",
            ) from error


def _stored(prefix: str, info: Mapping[str, Any]) -> Stored:
    leaf = str(info["name"]).rstrip("/").rsplit("/", 1)[1]
    is_folder = info["type"] == "directory"
    size = 0 if is_folder else int(info.get("size") or 0)
    return Stored(f"{prefix}/{leaf}", is_folder, size, _time(info))


def _time(info: Mapping[str, Any]) -> datetime:
    """File systems tell it as seconds or as a time, with or without a zone; now where they do not."""
    told = info.get("mtime", info.get("created"))
    if isinstance(told, int | float):
        return datetime.fromtimestamp(told, UTC)
    if isinstance(told, datetime):
        return told if told.tzinfo else told.replace(tzinfo=UTC)
    return datetime.now(UTC)
