"""Spark's prepare against a bare loop of decode + ONNX features on the same cores.

    python -m bench.prepare --backbones FOLDER [--pictures N] [--side PIXELS] [--runs N]
    python -m bench.prepare --backbones FOLDER --memory 1000 20000

Makes seeded JPEG pictures, stores them as `ingest` and `check` would, then measures

- the bare loop: as many processes as Spark has cores, one thread each, that decode, preprocess and
  run the graph in batches, without storing anything;
- the step `prepare`, from its first task to its last (the start of the JVM is not counted).

With `--memory` it prints the peak of all processes of the step for each number of pictures. The
backbones come from `python -m trainers backbones --folder FOLDER`; a documents server must answer
at ORCHARD_DOCUMENTS_URI, and ORCHARD_HOME names a folder that may be thrown away.
"""

from __future__ import annotations

import argparse
import io
import multiprocessing
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from orchard import features, preprocess
from orchard.blobs import Blobs, SegmentReader, SegmentWriter, keys
from orchard.catalog import builds
from orchard.catalog.connection import documents
from orchard.checking.manifest import MANIFEST_SCHEMA
from orchard.settings import REPOSITORY, settings
from orchard.tasks import task

OWNER = "local"
BACKBONE = "efficientnet-lite0"
VERSION = "0" * 16


def picture(seed: int, side: int) -> bytes:
    """A JPEG of 4 : 3 with structure at several scales."""
    random = np.random.Generator(np.random.PCG64(seed))
    height = side * 3 // 4
    coarse = Image.fromarray(random.integers(0, 256, (12, 16, 3), dtype=np.uint8))
    fine = Image.fromarray(random.integers(0, 256, (height // 4 + 1, side // 4 + 1, 3), np.uint8))
    size = (side, height)
    image = Image.blend(coarse.resize(size), fine.resize(size), 0.3)
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=85)
    return buffer.getvalue()


def store(blobs: Blobs, dataset: str, count: int, side: int) -> None:
    """Segments and manifest of `count` training pictures."""
    kinds = [picture(seed, side) for seed in range(min(count, 200))]
    rows: list[dict[str, Any]] = []
    with SegmentWriter(blobs, OWNER, dataset, settings().segment_bytes) as writer:
        pairs = []
        for number in range(count):
            # what follows the end of a JPEG is ignored and makes the content its own
            pairs += writer.add(kinds[number % len(kinds)] + number.to_bytes(8, "big"), number)
        pairs += writer.close()
    for number, reference in pairs:
        rows.append(
            {
                "sample_id": reference.sha256,
                "path": f"{number}.jpg",
                "segment": reference.segment,
                "offset": reference.offset,
                "length": reference.length,
                "split": "train",
                "fold": 0,
            }
        )
    rows.sort(key=lambda row: row["sample_id"])
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=MANIFEST_SCHEMA), buffer)
    version = keys.version(OWNER, dataset, VERSION)
    blobs.write(f"{version}/manifest/part-0.parquet", buffer.getvalue())
    blobs.write_json(f"{version}/summary.json", {"splits": {"train": count}})


def make_build(blobs: Blobs, dataset: str, run: int, size: int) -> str:
    """A build whose plan has one branch, with a feature key of its own."""
    build = builds.create(
        documents(), OWNER, dag_id="bench", run_id=f"{dataset}-{run}-{time.time_ns()}",
        project="bench", parameters={"task": "image_classification", "dataset": dataset},
    )  # fmt: skip
    branch = {
        "key": "bench",
        "backbone": BACKBONE,
        "size": size,
        "fit": "squash",
        "preprocessing": preprocess.standard(size, "squash"),
        "views": ["plain"],
        "feature_key": f"bench-{build['_id']}",
    }
    plan = {
        "task": "image_classification",
        "dataset": dataset,
        "version": VERSION,
        "branches": [branch],
    }
    blobs.write_json(keys.plan(OWNER, build["_id"]), plan)
    return str(build["_id"])


def bare(root: str, rows: Sequence[dict[str, Any]], size: int, ready: Any, go: Any) -> None:
    """One process of the bare loop."""
    import onnxruntime

    blobs = Blobs(root)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(blobs.read(keys.backbone(BACKBONE)), options)
    decode = task("image_classification").decode
    operations = preprocess.standard(size, "squash")
    reader = SegmentReader(blobs)
    ready.release()
    go.wait()
    for at in range(0, len(rows), features.BATCH):
        pixels = [
            decode(reader.read(row["segment"], row["offset"], row["length"]))
            for row in rows[at : at + features.BATCH]
        ]
        session.run(None, {"input": preprocess.batch(operations, pixels)})


def bare_rate(blobs: Blobs, dataset: str, size: int, processes: int) -> float:
    """Pictures a second of the bare loop over all pictures of a data set."""
    root = Path(blobs.url(keys.version(OWNER, dataset, VERSION)).removeprefix("file://"))
    rows = pq.read_table(root / "manifest", columns=["segment", "offset", "length"]).to_pylist()
    context = multiprocessing.get_context("spawn")
    ready, go = context.Semaphore(0), context.Event()
    workers = [
        context.Process(target=bare, args=(blobs.root, rows[n::processes], size, ready, go))
        for n in range(processes)
    ]
    for worker in workers:
        worker.start()
    for _ in workers:
        ready.acquire()
    started = time.perf_counter()
    go.set()
    for worker in workers:
        worker.join()
    return len(rows) / (time.perf_counter() - started)


def spark_run(blobs: Blobs, build_id: str) -> tuple[float, int]:
    """Pictures a second of the step and the peak memory in bytes of all its processes."""
    command = [sys.executable, "-m", "spark_jobs.prepare", "--build", build_id]
    process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL)
    peak = 0
    root = psutil.Process(process.pid)
    ended = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not ended.wait(0.5):
            total = 0
            for each in (root, *root.children(recursive=True)):
                try:
                    total += each.memory_info().rss
                except psutil.NoSuchProcess:
                    continue
            peak = max(peak, total)

    thread = threading.Thread(target=watch)
    thread.start()
    code = process.wait()
    ended.set()
    thread.join()
    if code:
        sys.exit(f"prepare ended with {code}")
    facts = blobs.read_json(keys.result(OWNER, build_id, "prepare"))["facts"]
    return float(facts["samples_per_second"]), peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--backbones", type=Path, required=True)
    parser.add_argument("--pictures", type=int, default=1000)
    parser.add_argument("--side", type=int, default=640)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--memory", type=int, nargs="+", default=[])
    given = parser.parse_args()
    blobs = Blobs(settings().blobs_root)
    for ending in (".onnx", ".json"):
        content = (given.backbones / f"{BACKBONE}{ending}").read_bytes()
        blobs.write(keys.backbone(BACKBONE).removesuffix(".onnx") + ending, content)
    for count in given.memory:
        dataset = f"memory-{count}"
        store(blobs, dataset, count, 64)
        rate, peak = spark_run(blobs, make_build(blobs, dataset, 0, 32))
        print(
            f"{count:,} pictures: {rate:.1f} a second, at most {peak / 2**20:,.0f} MB", flush=True
        )
    if given.memory:
        return
    store(blobs, "rate", given.pictures, given.side)
    ratios = []
    for run in range(given.runs):
        loop = bare_rate(blobs, "rate", given.size, given.processes)
        step, _ = spark_run(blobs, make_build(blobs, "rate", run, given.size))
        ratios.append(step / loop)
        print(
            f"run {run + 1}: bare {loop:.1f}, prepare {step:.1f} a second, {ratios[-1]:.2f}",
            flush=True,
        )
    print(f"median ratio {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
