"""HDFS: the client against the disk, and the ingest of large archives with its peak of memory.

    python -m bench.hdfs [--gigabytes 1 5] [--megabytes 512] [--folder FOLDER]

Starts an HDFS of its own on this machine (one NameNode, two DataNodes, replication 2; by Maven and
Java) and a documents server. Measures

- one file of `--megabytes`, written and read through `Blobs`, on HDFS and on the disk that the
  DataNodes use, the disk's with a sync at the end;
- for each of `--gigabytes`: the step `ingest` of a tar archive of files of 100 kB, no two alike.

An archive of n GB needs about 4 n GB of free disk below the folder.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from orchard.blobs import Blobs
from orchard.settings import settings
from tests.cluster.hdfs import Hdfs
from tests.cluster.test_hdfs_memory import peak_of, write_archive
from tests.conftest import free_port

MEBIBYTE = 2**20


def seconds(call: Callable[[], object]) -> float:
    """How long a call takes."""
    began = time.monotonic()
    call()
    return time.monotonic() - began


def write(blobs: Blobs, payload: bytes) -> None:
    """Write one file; where it lies on this machine's disk, until it is on it."""
    blobs.write("bench/one", payload)
    os.sync()


def rates(name: str, blobs: Blobs, payload: bytes) -> None:
    """Print the rates of one store: the best of three."""
    size = len(payload) / 1e6
    wrote = min(seconds(lambda: write(blobs, payload)) for _ in range(3))
    read = min(seconds(lambda: blobs.read("bench/one")) for _ in range(3))
    print(f"{name}: write {size / wrote:.0f} MB/s, read {size / read:.0f} MB/s", flush=True)
    blobs.delete("bench")


def ingest(hdfs: Hdfs, gigabytes: float, folder: Path) -> None:
    """Print time and peak of one ingest."""
    archive = folder / "archive.tar"
    write_archive(archive, int(gigabytes * 1e9))
    began = time.monotonic()
    peak = peak_of(archive, Blobs(f"{hdfs.uri}/bench"))
    took = time.monotonic() - began
    rate = archive.stat().st_size / 1e6 / took
    print(f"ingest of {gigabytes:g} GB: {took:.0f} s, {rate:.0f} MB/s, peak {peak} MB", flush=True)
    archive.unlink()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--gigabytes", type=float, nargs="*", default=[1.0, 5.0])
    parser.add_argument("--megabytes", type=int, default=512)
    parser.add_argument("--folder", type=Path, default=None)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="orchard-bench-hdfs-", dir=given.folder))
    port = free_port()
    documents = subprocess.Popen(
        [
            *(
                str(Path(sys.executable).with_name("nx-27017")),
                "--data-dir",
                str(folder / "documents"),
            ),
            *("--host", "127.0.0.1", "-p", str(port), "--pid-file", str(folder / "pid")),
        ],
        stdout=subprocess.DEVNULL,
    )
    hdfs = Hdfs(folder / "hdfs")
    try:
        hdfs.start()
        payload = os.urandom(given.megabytes * MEBIBYTE)
        rates("disk", Blobs(f"file://{folder / 'disk'}"), payload)
        rates("HDFS", Blobs(f"{hdfs.uri}/rates"), payload)
        del payload
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("ORCHARD_HOME", str(folder / "home"))
            patch.setenv("ORCHARD_DOCUMENTS_URI", f"mongodb://127.0.0.1:{port}")
            settings.cache_clear()
            for gigabytes in given.gigabytes:
                ingest(hdfs, gigabytes, folder)
    finally:
        hdfs.remove()
        documents.terminate()
        documents.wait()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
