"""100,000 tiny pictures go through ingest and check under a fixed memory limit."""

from __future__ import annotations

import contextlib
import io
import os
import struct
import subprocess
import sys
import tarfile
import threading
import time
import zlib
from pathlib import Path

import numpy as np
import psutil
import pytest

from orchard.blobs import Blobs, keys
from orchard.catalog import builds, datasets, projects
from orchard.catalog.connection import documents
from orchard.settings import REPOSITORY, settings
from tests.programs import lives

PICTURES = 100_000
CLASSES = ("dent", "normal", "scratch", "stain")
MEGABYTE = 2**20
INGEST_LIMIT = 500 * MEGABYTE
CHECK_LIMIT = 1800 * MEGABYTE
"""Resident memory of all processes of the step: JVM (512 MB heap), this program, two workers."""


def png(pixels: np.ndarray) -> bytes:  # type: ignore[type-arg]
    """An 8-bit RGB PNG of (H, W, 3) pixels, written by hand because it is needed 100,000 times."""
    height, width, _ = pixels.shape
    lines = np.zeros((height, 1 + 3 * width), np.uint8)
    lines[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )


def write_archive(path: Path) -> None:
    """A tar of PICTURES pictures in a folder a class, every one another picture."""
    random = np.random.Generator(np.random.PCG64(1))
    with tarfile.open(path, "w") as archive:
        for number in range(PICTURES):
            payload = png(random.integers(0, 256, (8, 8, 3), dtype=np.uint8))
            entry = tarfile.TarInfo(f"{CLASSES[number % len(CLASSES)]}/{number:06d}.png")
            entry.size = len(payload)
            archive.addfile(entry, io.BytesIO(payload))


class Watch(threading.Thread):
    """Samples the resident memory of a process and all below it."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self._root = psutil.Process(process)
        self.most = 0

    def run(self) -> None:
        while lives(self._root.pid):
            total = 0
            with contextlib.suppress(psutil.NoSuchProcess):
                for each in (self._root, *self._root.children(recursive=True)):
                    with contextlib.suppress(psutil.Error):
                        total += each.memory_info().rss
            self.most = max(self.most, total)
            time.sleep(0.5)


def run_step(module: str, build_id: str) -> int:
    """Run a step's program to its end; gives the most memory its processes held."""
    command = [sys.executable, "-m", module, "--build", build_id]
    environment = {
        **os.environ,
        "PYTHONPATH": str(REPOSITORY),
        "ORCHARD_SPARK_DRIVER_MEMORY": "512m",
    }
    process = subprocess.Popen(
        command, cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, text=True
    )
    watch = Watch(process.pid)
    watch.start()
    said, _ = process.communicate()
    watch.join()
    assert process.returncode == 0, said[-3000:]
    return watch.most


@pytest.mark.timeout(900)
def test_a_hundred_thousand_pictures_need_no_more_memory(orchard_home: Path) -> None:
    archive = orchard_home / "imports" / "pictures.tar"
    write_archive(archive)
    projects.ensure(documents(), "local", "many", "image_classification")
    build = builds.create(
        documents(),
        "local",
        dag_id="build_model",
        run_id="r1",
        project="many",
        parameters={
            "task": "image_classification",
            "dataset": "many",
            "data": {"kind": "archive", "location": str(archive)},
        },
    )
    memory = run_step("orchard.steps.ingest", build["_id"])
    assert memory < INGEST_LIMIT, memory / MEGABYTE
    blobs = Blobs(settings().blobs_root)
    facts = blobs.read_json(keys.result("local", build["_id"], "ingest"))["facts"]
    assert facts["files"] == PICTURES

    memory = run_step("spark_jobs.check", build["_id"])
    assert memory < CHECK_LIMIT, memory / MEGABYTE
    version = datasets.newest_version(documents(), "local", "many")
    assert version is not None
    summary = version["summary"]
    assert summary["samples"] == PICTURES
    assert summary["refused"] == {}
    assert sum(summary["splits"].values()) == PICTURES
    assert 0.19 < summary["splits"]["test"] / PICTURES < 0.21
    assert sorted(summary["labels"]) == sorted(CLASSES)
