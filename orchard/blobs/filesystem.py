"""File systems by address: which one holds a URI, and what they do not do alike."""

from __future__ import annotations

import contextlib
import logging
import time
from pathlib import Path
from typing import IO, Any

import fsspec

logger = logging.getLogger(__name__)

_CHUNK = 1024 * 1024
_SECONDS_TO_WRITE = 90.0
_LONGEST_PAUSE = 8.0


def filesystem_of(uri: str) -> tuple[Any, str]:
    """The fsspec file system of a URI and the path in it.

    Raises:
        BadInput: an hdfs address names no NameNode.
        OSError, ImportError, ValueError: there is none.
    """
    if uri.startswith("hdfs://"):
        # imported here: who has no HDFS needs no client of it
        from orchard.blobs.hdfs import HdfsFileSystem

        path: str = HdfsFileSystem._strip_protocol(uri)
        return HdfsFileSystem(**HdfsFileSystem._get_kwargs_from_urls(uri)), path
    filesystem, path = fsspec.core.url_to_fs(uri)
    return filesystem, path


def is_local(filesystem: Any) -> bool:
    """Whether its files are this machine's own."""
    return "file" in _protocols(filesystem)


def replace(filesystem: Any, source: str, goal: str) -> None:
    """Rename a file, in one step in place of what is there where the file system can do that."""
    if is_local(filesystem):
        Path(source).replace(goal)
    elif "hdfs" in _protocols(filesystem):
        filesystem.mv(source, goal, overwrite=True)
    else:
        if filesystem.exists(goal):
            filesystem.rm(goal)
        filesystem.mv(source, goal)


def rename_folder(filesystem: Any, source: str, goal: str) -> bool:
    """Move a folder to a place that is free. False where something is there; then it stays.

    Raises FileNotFoundError where there is neither the one nor the other.
    """
    if filesystem.exists(goal):
        return False
    filesystem.makedirs(goal.rsplit("/", 1)[0], exist_ok=True)
    if is_local(filesystem):
        try:
            Path(source).rename(goal)
        except OSError:
            return False
        return True
    try:
        filesystem.mv(source, goal, recursive=True)
    except FileExistsError:
        return False
    except FileNotFoundError:
        # a rename whose answer was lost is sent again by the client, and finds its work done
        if not filesystem.exists(goal):
            raise
    return True


def send(filesystem: Any, file: IO[bytes], temporary: str, goal: str) -> None:
    """Write a local file from its start to a temporary name, then put it in the goal's place.

    A write is lost with a DataNode that dies under it, so the whole file is written again until
    the cluster has noticed. A file system that does not even begin a file is away: that is an
    OSError at once.
    """
    ends = time.monotonic() + _SECONDS_TO_WRITE
    pause = 1.0
    while True:
        file.seek(0)
        copy = filesystem.open(temporary, "wb")
        try:
            with copy:
                while chunk := file.read(_CHUNK):
                    copy.write(chunk)
            replace(filesystem, temporary, goal)
            return
        except OSError as error:
            if time.monotonic() + pause > ends:
                raise OSError(f"a file could not be written: {error}") from error
            logger.info("Writing %s again in %.0f s: %s", goal.rsplit("/", 1)[-1], pause, error)
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def remove_quietly(filesystem: Any, path: str) -> None:
    """Remove a temporary file if it is there; an error on the way is not the one to tell."""
    with contextlib.suppress(Exception):
        filesystem.rm(path)


def _protocols(filesystem: Any) -> tuple[str, ...]:
    protocol = filesystem.protocol
    return (protocol,) if isinstance(protocol, str) else tuple(protocol)
