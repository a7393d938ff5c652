"""Looking through a folder that somebody else filled, by URI: names, sizes, contents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, cast

from orchard.blobs.filesystem import filesystem_of
from orchard.errors import BadInput, TryAgain


@dataclass(frozen=True)
class Item:
    """A file or folder: its path in the file system, its own name, its size in bytes."""

    path: str
    name: str
    kind: str
    size: int


class Browser:
    """Read-only access below a URI such as `hdfs://host/folder`."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        try:
            self._filesystem, self.path = filesystem_of(uri)
        except (OSError, ImportError, ValueError) as error:
            raise TryAgain(f"The file system could not be reached: {error}", value=uri) from error

    def item(self) -> Item:
        """What the URI itself points to. Raises BadInput where there is nothing."""
        try:
            return _item(self._filesystem.info(self.path))
        except FileNotFoundError as error:
            raise BadInput("There is nothing at this address", value=self.uri) from error
        except OSError as error:
            raise TryAgain(f"The address could not be read: {error}", value=self.uri) from error

    def list(self, path: str) -> Iterator[Item]:
        """What lies directly in a folder, sorted by name."""
        found = self._filesystem.ls(path, detail=True)
        return iter(sorted((_item(info) for info in found), key=lambda item: item.name))

    def open(self, path: str) -> IO[bytes]:
        """A readable file."""
        return cast(IO[bytes], self._filesystem.open(path, "rb"))


def _item(info: dict[str, object]) -> Item:
    path = str(info["name"]).rstrip("/")
    kind = "link" if info.get("islink") else str(info["type"])
    return Item(path, path.rsplit("/", 1)[-1], kind, int(str(info.get("size") or 0)))
