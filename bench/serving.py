"""Throughput of the prediction service against a bare loop of decode + ONNX Runtime.

    python -m bench.serving [--seconds 10] [--runs 5] [--connections 8] [--processes 2]
    python -m bench.serving --bundle FOLDER --samples FOLDER

One model (EfficientNet-Lite0 at 224 with a head of 10 classes), pictures of 640×480; or a bundle of
any task, as `python -m orchard export` writes it, with samples of its own. The bare loop
is one process a core, each with one thread, that decodes and predicts one picture after the other
from memory. The service gets the same pictures over HTTP by keep-alive connections from one load
generator on the same cores. The generator's own processor time is measured and taken off: its share
of the cores is not the service's to use. The processor time a picture is told too, because rates
depend on what else the machine does. Prints one JSON line with the median of the runs.
"""

from __future__ import annotations

import argparse
import base64
import json
import multiprocessing
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from bench.load import Load, generate, processor_times
from bench.served_bundle import photos, write_bundle
from orchard import bundle as bundles
from orchard.inference import Model
from orchard.names import SERVICE_PREFIX
from orchard.tasks import Task
from orchard.tasks import task as task_of
from tests.serving import servers
from tests.serving.bundles import TOKEN, deploy

PICTURES = 16


def bare_rate(
    folder: Path, samples: list[bytes], processes: int, seconds: float
) -> tuple[float, float]:
    """Samples a second of all processes together, and milliseconds of processor a sample."""
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        jobs = [(folder, samples, seconds)] * processes
        rates, spent = zip(*pool.starmap(_bare, jobs, chunksize=1), strict=True)
        return sum(rates), 1000 * statistics.mean(spent)


def _bare(folder: Path, samples: list[bytes], seconds: float) -> tuple[float, float]:
    model = Model(bundles.read(folder), threads=1)
    model.answers(samples[:1])
    started, spent = time.monotonic(), time.process_time()
    count = 0
    while time.monotonic() - started < seconds:
        model.answers([samples[count % len(samples)]])
        count += 1
    return count / (time.monotonic() - started), (time.process_time() - spent) / count


def service_load(
    url: str, task: Task, samples: list[bytes], seconds: float, connections: int
) -> Load:
    """The service under load with EasyDL's JSON bodies."""
    bodies = [
        json.dumps({task.service_field: base64.b64encode(each).decode()}).encode()
        for each in samples
    ]
    path = f"{SERVICE_PREFIX}/{task.service_segment}/bench?access_token={TOKEN}"
    return generate(url, path, bodies, "application/json", seconds=seconds, connections=connections)


def placed(given: argparse.Namespace, folder: Path) -> tuple[str, list[bytes]]:
    """The bundle that is measured, below `folder` by its hash, and samples for it."""
    if given.bundle is None:
        return write_bundle(folder), photos(PICTURES)
    name = bundles.read(given.bundle).hash
    shutil.copytree(given.bundle, folder / name)
    files = sorted(path for path in given.samples.rglob("*") if path.is_file())
    task = task_of(bundles.read(given.bundle).task)
    wanted = [path for path in files if path.suffix.lower() in task.sample_endings]
    return name, [path.read_bytes() for path in wanted[:PICTURES]]


def measure(given: argparse.Namespace) -> dict[str, Any]:
    """All runs. Returns the medians and every run's figures."""
    with tempfile.TemporaryDirectory(prefix="bench-serving-") as temporary:
        root = Path(temporary) / "serving"
        folder = root / "bench" / "bundles"
        name, samples = placed(given, folder)
        task = task_of(bundles.read(folder / name).task)
        deploy(root, "bench", [(name, 1)], task=task.name)
        runs = []
        with servers.service(
            root, Path(temporary) / "service.log", processes=given.processes
        ) as server:
            for _ in range(given.runs):
                bare, bare_spent = bare_rate(folder / name, samples, given.processes, given.seconds)
                service_load(server.url, task, samples, 1.0, given.connections)  # to warm up
                before = sum(processor_times().values())
                load = service_load(server.url, task, samples, given.seconds, given.connections)
                spent = sum(processor_times().values()) - before
                left = 1 - load.generator_seconds / load.seconds / given.processes
                runs.append(
                    {
                        "bare_per_second": bare,
                        "service_per_second": load.rate,
                        "ratio": load.rate / bare,
                        "generator_share_of_cores": 1 - left,
                        "ratio_on_the_cores_left": load.rate / (bare * left),
                        "bare_processor_ms": bare_spent,
                        "service_processor_ms": 1000
                        * spent
                        / max(1, len(load.latencies) + load.refused),
                        "p50_ms": load.percentile(50),
                        "p99_ms": load.percentile(99),
                        "refused": load.refused,
                    }
                )
                print(json.dumps(runs[-1]), flush=True)
    return {
        "cores": psutil.cpu_count(),
        "runs": given.runs,
        "median": {key: statistics.median(run[key] for run in runs) for key in runs[0]},
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="bench.serving")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--processes", type=int, default=psutil.cpu_count() or 1)
    parser.add_argument("--bundle", type=Path, help="folder of a bundle")
    parser.add_argument("--samples", type=Path, help="folder with samples for it")
    print(json.dumps(measure(parser.parse_args()), indent=1))


if __name__ == "__main__":
    main()
