"""Memory of an ingest to HDFS does not grow with the archive."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tarfile
import uuid
from pathlib import Path

import pytest

from orchard.blobs import Blobs, keys
from orchard.settings import REPOSITORY
from tests.cluster.builds import way
from tests.spark_jobs.intakes import DATASET, OWNER

pytestmark = pytest.mark.cluster

MEBIBYTE = 2**20
FILE_BYTES = 100_000
_PEAK = re.compile(r"at most (\d+) MB")


def write_archive(path: Path, size: int) -> None:
    """A tar of files of which no two are alike, about `size` bytes."""
    noise = os.urandom(FILE_BYTES)
    with tarfile.open(path, "w") as archive:
        for number in range(size // FILE_BYTES):
            info = tarfile.TarInfo(f"{'ok' if number % 2 else 'bad'}/{number:06d}.jpg")
            info.size = FILE_BYTES
            archive.addfile(info, io.BytesIO(number.to_bytes(8, "big") + noise[8:]))


def peak_of(archive: Path, blobs: Blobs) -> int:
    """Peak memory in MB of the ingest of an archive, which must store all of it."""
    with way(blobs.root, str(archive), str(archive.parent), f"test_{uuid.uuid4().hex}") as on:
        done = subprocess.run(
            [sys.executable, "-m", "orchard.steps.ingest", "--build", on.of.build_id],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        stored = blobs.weigh(keys.segments(OWNER, DATASET)).bytes
        assert stored == on.result("ingest")["facts"]["files"] * FILE_BYTES
        assert stored > 0.9 * archive.stat().st_size
    found = _PEAK.findall(done.stdout)
    return int(found[-1])


def test_memory_stays_flat(hdfs_uri: str, orchard_home: Path, tmp_path: Path) -> None:
    peaks = []
    for size in (40 * MEBIBYTE, 1000 * MEBIBYTE):
        archive = tmp_path / f"{size}.tar"
        write_archive(archive, size)
        peaks.append(peak_of(archive, Blobs(f"{hdfs_uri}/memory/{uuid.uuid4().hex}")))
        archive.unlink()
    print(f"peaks in MB: {peaks}")
    assert peaks[1] - peaks[0] < 60
