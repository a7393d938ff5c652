"""Throughput of the prediction service against a bare loop of decode + ONNX Runtime.

    python -m bench.serving [--seconds 10] [--runs 5] [--connections 8] [--processes 2]

One model (EfficientNet-Lite0 at 224 with a head of 10 classes), pictures of 640×480. The bare loop
is one process a core, each with one thread, that decodes and predicts one picture after the other
from memory. The service gets the same pictures over HTTP by keep-alive connections from one load
generator on the same cores. The generator's own processor time is measured and taken off: its share
of the cores is not the service's to use. Processor time a picture
is told too: it hardly depends on what else the machine does, rates do. Prints one JSON line with the
median of the runs.
"""

from __future__ import annotations

import argparse
import base64
import json
import multiprocessing
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
from tests.serving import servers
from tests.serving.bundles import TOKEN, deploy

PATH = f"/rpc/2.0/ai_custom/v1/classification/bench?access_token={TOKEN}"
PICTURES = 16


def bare_rate(folder: Path, name: str, processes: int, seconds: float) -> tuple[float, float]:
    """Pictures a second of all processes together, and milliseconds of processor a picture."""
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        jobs = [(folder, name, seconds)] * processes
        rates, spent = zip(*pool.starmap(_bare, jobs, chunksize=1), strict=True)
        return sum(rates), 1000 * statistics.mean(spent)


def _bare(folder: Path, name: str, seconds: float) -> tuple[float, float]:
    model = Model(bundles.read(folder / name, name), threads=1)
    samples = photos(PICTURES)
    model.answers(samples[:1])
    started, spent = time.monotonic(), time.process_time()
    count = 0
    while time.monotonic() - started < seconds:
        model.answers([samples[count % PICTURES]])
        count += 1
    return count / (time.monotonic() - started), (time.process_time() - spent) / count


def service_load(url: str, seconds: float, connections: int) -> Load:
    """The service under load with EasyDL's JSON bodies."""
    bodies = [_json_body(payload) for payload in photos(PICTURES)]
    return generate(url, PATH, bodies, "application/json", seconds=seconds, connections=connections)


def _json_body(payload: bytes) -> bytes:
    return json.dumps({"image": base64.b64encode(payload).decode()}).encode()


def measure(given: argparse.Namespace) -> dict[str, Any]:
    """All runs. Returns the medians and every run's figures."""
    with tempfile.TemporaryDirectory(prefix="bench-serving-") as temporary:
        root = Path(temporary) / "serving"
        folder = root / "bench" / "bundles"
        name = write_bundle(folder)
        deploy(root, "bench", [(name, 1)])
        runs = []
        with servers.service(
            root, Path(temporary) / "service.log", processes=given.processes
        ) as server:
            for _ in range(given.runs):
                bare, bare_spent = bare_rate(folder, name, given.processes, given.seconds)
                service_load(server.url, 1.0, given.connections)  # to warm up
                before = sum(processor_times().values())
                load = service_load(server.url, given.seconds, given.connections)
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
    print(json.dumps(measure(parser.parse_args()), indent=1))


if __name__ == "__main__":
    main()
