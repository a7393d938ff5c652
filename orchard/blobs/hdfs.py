"""HDFS as a file system of fsspec, over the client library hdfs-native.

Names are taken as they are: `#`, `?`, `;` and `%` mean nothing in a path. Every fault is an
`OSError` with one line, and what is absent a `FileNotFoundError`. A NameNode that is away is told
within seconds, so that a step ends and is tried again, and does not hang.

The site's configuration, with login, name services and replication, is read from the folder that
the variable HADOOP_CONF_DIR names, as Hadoop's own clients do.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any

from fsspec import AbstractFileSystem
from hdfs_native import Client, WriteOptions

from orchard.errors import BadInput

SCHEME = "hdfs"

_OPTIONS = {
    "dfs.client.failover.max.attempts": "4",
    "dfs.client.failover.sleep.base.millis": "100",
    "dfs.client.failover.sleep.max.millis": "300",
}
"""Attempts over all NameNodes together; the library's own take minutes."""

_READ_AHEAD = 256 * 1024
_KEPT = (FileNotFoundError, FileExistsError, PermissionError, IsADirectoryError)
_REMOTE = re.compile(r'^\w+\("(?P<kind>[\w.$]+)", "(?P<text>.*?)(?:\\n|"\)$)')
_DENIED = "AccessControlException"

_clients: dict[tuple[int, str], Client] = {}


class HdfsFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """The file system at `hdfs://host:port`, or at a name service without a port.

    Raises:
        BadInput: the address names no NameNode, or the site's configuration cannot be read.
        OSError: of any call, where the NameNode does not answer or refuses.
    """

    protocol = SCHEME
    root_marker = "/"
    cachable = False  # fsspec's cache is emptied in a forked process: see `_client_of`

    def __init__(self, host: str, port: int | None = None, **options: Any) -> None:
        super().__init__(host, port, **options)
        self._authority = host if port is None else f"{host}:{port}"
        _client_of(self._authority)

    @property
    def _client(self) -> Client:
        return _client_of(self._authority)

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        if path.startswith(f"{SCHEME}://"):
            path = "/" + path.removeprefix(f"{SCHEME}://").partition("/")[2]
        return path.rstrip("/") or cls.root_marker

    @staticmethod
    def _get_kwargs_from_urls(path: str) -> dict[str, Any]:
        host, _, port = path.removeprefix(f"{SCHEME}://").partition("/")[0].partition(":")
        return {"host": host, "port": int(port) if port.isdecimal() else None}

    def unstrip_protocol(self, name: str) -> str:
        """The full address of a path."""
        return f"{SCHEME}://{self._authority}{self._strip_protocol(name)}"

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Name, size, type and times in seconds of a file or folder."""
        with _told():
            return _info(self._client.get_file_info(self._strip_protocol(path)))

    def exists(self, path: str, **_: Any) -> bool:
        """Whether there is a file or folder; an error is an error and not a no."""
        try:
            self.info(path)
        except FileNotFoundError:
            return False
        return True

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        """What lies directly in a folder; of a file, the file itself."""
        with _told():
            found = [_info(one) for one in self._client.list_status(self._strip_protocol(path))]
        return found if detail else [one["name"] for one in found]

    def mkdir(self, path: str, create_parents: bool = True, **_: Any) -> None:
        """Make a folder; nothing happens where it exists."""
        with _told():
            self._client.mkdirs(self._strip_protocol(path), 0o755, create_parents)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Make a folder with those above it."""
        if not exist_ok and self.exists(path):
            raise FileExistsError(path)
        self.mkdir(path)

    def mv(self, path1: str, path2: str, overwrite: bool = False, **_: Any) -> None:
        """Rename in one atomic step. Raises FileExistsError unless it may overwrite a file."""
        source, goal = self._strip_protocol(path1), self._strip_protocol(path2)
        with _told():
            self._client.rename(source, goal, overwrite)

    def cp_file(self, path1: str, path2: str, **_: Any) -> None:
        """Copy the bytes of a file."""
        with self.open(path1, "rb") as source, self.open(path2, "wb") as goal:
            shutil.copyfileobj(source, goal, _READ_AHEAD)

    def rm(self, path: str | Sequence[str], recursive: bool = False, maxdepth: Any = None) -> None:
        """Remove files or folders; a name is never a pattern. Raises FileNotFoundError."""
        for each in [path] if isinstance(path, str) else path:
            with _told():
                removed = self._client.delete(self._strip_protocol(each), recursive)
            if not removed:
                raise FileNotFoundError(each)

    def rm_file(self, path: str) -> None:
        """Remove a file. Raises FileNotFoundError."""
        self.rm(path)

    rmdir = rm_file

    def _rm(self, path: str) -> None:
        self.rm(path)

    def _open(
        self, path: str, mode: str = "rb", block_size: Any = None, **_: Any
    ) -> io.BufferedIOBase | io.RawIOBase:
        path = self._strip_protocol(path)
        if mode == "rb":
            return io.BufferedReader(_Reader(self._client, path), _READ_AHEAD)
        if mode == "wb":
            return _Writer(self._client, path)
        raise ValueError(f"An HDFS file is opened with rb or wb, not {mode}")


def _client_of(authority: str) -> Client:
    """The client of this process for a NameNode or name service.

    It is never freed. A client has threads, which a forked process lacks: to free the parent's there
    waits for them for ever, also between the fork and the start of another program. So a process
    has clients of its own, and those that it inherited stay untouched.
    """
    key = (os.getpid(), authority)
    if key not in _clients:
        try:
            with _told():
                made = Client(f"{SCHEME}://{authority}", _OPTIONS)
        except OSError as error:
            raise BadInput(
                f"The address of HDFS names no NameNode ({error})",
                value=f"{SCHEME}://{authority}",
                way_out="Give hdfs://host:port, or a name service of HADOOP_CONF_DIR's hdfs-site.xml",
            ) from error
        if _clients.setdefault(key, made) is made:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))  # not freed when Python ends either
    return _clients[key]


class _Reader(io.RawIOBase):
    """Bytes of a file; as of any file, there are none behind its end."""

    def __init__(self, client: Client, path: str) -> None:
        with _told():
            self._file = client.read(path)
            self._length = len(self._file)
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._length}[whence]
        if start + offset < 0:
            raise OSError(f"There is no place {start + offset} in a file")
        self._place = start + offset
        return self._place

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        wanted = min(len(view), self._length - self._place)
        if wanted <= 0:
            return 0
        with _told():
            found = self._file.read_range(self._place, wanted)
        view[: len(found)] = found
        self._place += len(found)
        return len(found)

    def readall(self) -> bytes:
        with _told():
            found = self._file.read_range(self._place, max(self._length - self._place, 0))
        self._place += len(found)
        return found


class _Writer(io.RawIOBase):
    """A new file, in place of what was there. One that is left by an error is removed, not kept."""

    def __init__(self, client: Client, path: str) -> None:
        self._client, self._path = client, path
        with _told():
            self._file = client.create(path, WriteOptions(overwrite=True))

    def writable(self) -> bool:
        return True

    def write(self, payload: Any) -> int:
        with _told():
            return self._file.write(payload)

    def close(self) -> None:
        if not self.closed:
            super().close()
            with _told():
                self._file.close()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
            return
        super().close()
        with contextlib.suppress(OSError), _told():
            self._client.delete(self._path)


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """The library's errors as OSError in one line: Java's traces stay out, and panics are errors."""
    try:
        yield
    except _KEPT as error:
        raise type(error)(_line(error)) from None
    except (OSError, RuntimeError) as error:
        kind = PermissionError if _DENIED in str(error) else OSError
        raise kind(_line(error)) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise OSError(f"The HDFS client met a fault: {_line(error)}") from error


def _line(error: BaseException) -> str:
    remote = _REMOTE.match(str(error))
    if remote:
        return f"{remote['kind'].rsplit('.', 1)[-1]}: {remote['text']}"
    return str(error).partition("\n")[0]


def _info(status: Any) -> dict[str, Any]:
    return {
        "name": status.path,
        "size": 0 if status.isdir else int(status.length),
        "type": "directory" if status.isdir else "file",
        "mtime": status.modification_time / 1000,
        "owner": status.owner,
        "group": status.group,
        "permission": status.permission,
    }
