"""Throughput of our prediction service and of other servers at equal p99, same model, same cores.

    python -m bench.peers [--bound 150] [--seconds 8] [--levels 2 4 6 8 12 16]

Needs `make bench-environment`. One ONNX graph (EfficientNet-Lite0 at 224 with 10 classes), pictures
of 640×480 as JPEG, one load generator. For each server the number of connections is raised level by
level; what counts is the highest rate of a level whose p99 is within the bound. A server with
batches is measured with and without them, and the better one counts. Answers are compared with ONNX
Runtime's before the load. Prints a line a level, then a table, then the same as JSON.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil

from bench.load import generate, processor_times
from bench.peers.classifier import BATCH, MODEL, WORKERS
from bench.served_bundle import photos, write_bundle
from orchard import bundle as bundles
from orchard.inference import Model
from orchard.settings import REPOSITORY
from tests.serving import servers
from tests.serving.bundles import TOKEN, deploy

PICTURES = 16
WARM_UP_SECONDS = 3.0
TOLERANCE = 0.02
"""Of a score: peers resize with Pillow in one call, which may round a pixel otherwise."""
ENVIRONMENT = REPOSITORY / ".bench-venv" / "bin"
JSON = "application/json"
BOUNDARY = "bench-boundary"
OURS = "/rpc/2.0/ai_custom/v1/classification/bench"


@dataclass(frozen=True)
class Peer:
    """How a server is started and asked.

    Attributes:
        command: port → its command line; None for our own service.
        ready: path that answers 200 when it is up.
        path, content_type, body: of a request with one picture.
        scores: parsed answer → K scores.
    """

    name: str
    path: str
    content_type: str
    body: Callable[[bytes], bytes]
    scores: Callable[[Any], list[float]]
    command: Callable[[int], list[str]] | None = None
    ready: str = ""
    batch: int = 1


@dataclass(frozen=True)
class Level:
    """A server under one number of connections.

    Attributes:
        processor_ms: processor time of all its processes a request; other work on the machine
            makes requests wait, but hardly changes this.
        spread: processor time of the second busiest of its processes as a share of the busiest's.
    """

    connections: int
    per_second: float
    p50_ms: float
    p99_ms: float
    refused: int
    generator_share_of_cores: float
    processor_ms: float
    spread: float


def _base64(payload: bytes) -> str:
    return base64.b64encode(payload).decode()


def _multipart(payload: bytes) -> bytes:
    head = (
        f"--{BOUNDARY}\r\n"
        'Content-Disposition: form-data; name="images"; filename="photo.jpg"\r\n'
        "Content-Type: image/jpeg\r\n\r\n"
    )
    return head.encode() + payload + f"\r\n--{BOUNDARY}--\r\n".encode()


def _our_scores(answer: Any) -> list[float]:
    named = {each["name"]: each["score"] for each in answer["results"]}
    return [named[f"class-{number}"] for number in range(len(named))]


def peers(model_folder: Path, workers: int) -> list[Peer]:
    """All that are measured, ours first."""
    ours = Peer(
        name="ours",
        path=f"{OURS}?access_token={TOKEN}",
        content_type=JSON,
        body=lambda payload: json.dumps({"image": _base64(payload), "top_num": 10}).encode(),
        scores=_our_scores,
    )
    result = [ours]
    for batch in (1, 4):
        result.append(
            Peer(
                name=f"LitServe, batches of {batch}",
                path="/predict",
                content_type=JSON,
                body=lambda payload: json.dumps({"image": _base64(payload)}).encode(),
                scores=lambda answer: list(answer["scores"]),
                command=lambda port: [
                    str(ENVIRONMENT / "python"),
                    "-m",
                    "bench.peers.lit_server",
                    str(port),
                ],
                ready="/health",
                batch=batch,
            )  # fmt: skip
        )
        result.append(
            Peer(
                name=f"BentoML, batches of {batch}",
                path="/classify",
                content_type=f"multipart/form-data; boundary={BOUNDARY}",
                body=_multipart,
                scores=lambda answer: list(answer[0]),
                command=lambda port: [
                    str(ENVIRONMENT / "bentoml"),
                    "serve",
                    "bench.peers.bento_service:ClassifierService",
                    "--host",
                    "127.0.0.1",
                    "--port",
                    str(port),
                ],
                ready="/readyz",
                batch=batch,
            )  # fmt: skip
        )
    result.append(
        Peer(
            name="mlflow models serve",
            path="/invocations",
            content_type=JSON,
            body=lambda payload: json.dumps(
                {"dataframe_split": {"columns": ["image"], "data": [[_base64(payload)]]}}
            ).encode(),
            scores=lambda answer: list(answer["predictions"][0]),
            command=lambda port: [
                str(ENVIRONMENT / "mlflow"),
                "models",
                "serve",
                "--model-uri",
                str(model_folder),
                "--env-manager",
                "local",
                "--workers",
                str(workers),
                "--host",
                "127.0.0.1",
                "--port",
                str(port),
            ],
            ready="/ping",
        )  # fmt: skip
    )
    return result


def environment(root: Path, graph: Path, batch: int, workers: int) -> dict[str, str]:
    """What a peer's process gets besides ours."""
    return {
        MODEL: str(graph),
        BATCH: str(batch),
        WORKERS: str(workers),
        "OMP_NUM_THREADS": "1",
        "PATH": f"{ENVIRONMENT}:{os.environ['PATH']}",
        "BENTOML_HOME": str(root / "bentoml"),
        "BENTOML_DO_NOT_TRACK": "True",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_TRACKING_URI": f"sqlite:///{root / 'mlflow.db'}",
    }


@contextlib.contextmanager
def started(peer: Peer, root: Path, graph: Path, workers: int) -> Iterator[str]:
    """The address of a peer that answers."""
    log = root / "logs" / f"{peer.name}.log"
    if peer.command is None:
        with servers.service(root / "serving", log, processes=workers) as server:
            yield server.url
        return
    port = servers.free_port()
    url = f"http://127.0.0.1:{port}"
    with servers.running(
        peer.command(port),
        url,
        lambda: servers.answers(url + peer.ready),
        log,
        environment(root, graph, peer.batch, workers),
    ) as server:
        yield server.url


def compare(peer: Peer, url: str, expected: dict[bytes, list[float]]) -> None:
    """Raise where the server answers something else than ONNX Runtime."""
    for payload, scores in expected.items():
        answer = httpx.post(
            url + peer.path,
            content=peer.body(payload),
            headers={"Content-Type": peer.content_type},
            timeout=60,
            trust_env=False,
        )
        answer.raise_for_status()
        difference = float(np.abs(np.array(peer.scores(answer.json())) - scores).max())
        if difference > TOLERANCE:
            raise SystemExit(f"{peer.name} answers otherwise: {difference:.3f} apart")


def measure(peer: Peer, url: str, given: argparse.Namespace) -> list[Level]:
    """The levels, up to the first that is far above the bound."""
    bodies = [peer.body(payload) for payload in photos(PICTURES)]
    generate(url, peer.path, bodies, peer.content_type, seconds=WARM_UP_SECONDS, connections=4)
    found = []
    for connections in given.levels:
        before = processor_times()
        load = generate(
            url,
            peer.path,
            bodies,
            peer.content_type,
            seconds=given.seconds,
            connections=connections,
        )
        spent = sorted(
            after - before.get(process, 0.0) for process, after in processor_times().items()
        )
        answered = max(1, len(load.latencies) + load.refused)
        level = Level(
            connections,
            load.rate,
            load.percentile(50),
            load.percentile(99),
            load.refused,
            load.generator_seconds / load.seconds / (psutil.cpu_count() or 1),
            1000 * sum(spent) / answered,
            spent[-2] / spent[-1] if len(spent) > 1 and spent[-1] else 0.0,
        )
        found.append(level)
        print(
            f"{peer.name:24} {connections:3} connections: {level.per_second:6.1f} a second, "
            f"p50 {level.p50_ms:6.1f} ms, p99 {level.p99_ms:6.1f} ms, {level.refused} refused, "
            f"generator {100 * level.generator_share_of_cores:.1f} % of the cores, "
            f"{level.processor_ms:.1f} ms of processor a request, "
            f"second process {100 * level.spread:.0f} % of the first",
            flush=True,
        )
        if level.p99_ms > 2 * given.bound:
            break
    return found


def best(levels: list[Level], bound: float) -> Level | None:
    """The fastest level within the bound and without refusals."""
    within = [each for each in levels if each.p99_ms <= bound and not each.refused]
    return max(within, key=lambda each: each.per_second, default=None)


def main() -> None:
    """Measure all and print."""
    parser = argparse.ArgumentParser(prog="bench.peers", description=__doc__.split("\n")[0])
    parser.add_argument("--bound", type=float, default=150.0, help="p99 in milliseconds")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--levels", type=int, nargs="+", default=[2, 4, 6, 8, 12, 16])
    parser.add_argument("--workers", type=int, default=psutil.cpu_count() or 1)
    parser.add_argument("--only", default="", help="part of the names of the servers to measure")
    given = parser.parse_args()
    results: dict[str, list[Level]] = {}
    with tempfile.TemporaryDirectory(prefix="bench-peers-") as temporary:
        root = Path(temporary)
        folder = root / "serving" / "bench" / "bundles"
        name = write_bundle(folder)
        deploy(root / "serving", "bench", [(name, 1)])
        graph = folder / name / "model.onnx"
        model = Model(bundles.read(folder / name, name))
        expected = {each: model.answers([each])[0][0].tolist() for each in photos(4)}
        saved = root / "mlflow-model"
        save = [str(ENVIRONMENT / "python"), "-m", "bench.peers.mlflow_model", str(saved)]
        servers_environment = environment(root, graph, 1, given.workers)
        run(save, servers_environment)
        for peer in peers(saved, given.workers):
            if given.only.lower() not in peer.name.lower():
                continue
            with started(peer, root, graph, given.workers) as url:
                compare(peer, url, expected)
                results[peer.name] = measure(peer, url, given)
    report(results, given.bound)


def run(command: list[str], variables: dict[str, str]) -> None:
    """A command that has to succeed."""
    subprocess.run(
        command,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), **variables},
        check=True,
        capture_output=True,
    )


def report(results: dict[str, list[Level]], bound: float) -> None:
    """The table and the JSON line."""
    print(f"\nhighest rate with p99 within {bound:.0f} ms")
    chosen = {name: best(levels, bound) for name, levels in results.items()}
    ours = chosen.get("ours")
    for name, level in chosen.items():
        if level is None:
            print(f"{name:24} none")
            continue
        ratio = f"{ours.per_second / level.per_second:.2f}" if ours else "-"
        print(
            f"{name:24} {level.per_second:6.1f} a second at {level.connections} connections, "
            f"p99 {level.p99_ms:.0f} ms; ours is {ratio} times as fast"
        )
    print(
        json.dumps(
            {
                "cores": psutil.cpu_count(),
                "bound_ms": bound,
                "best": {n: asdict(each) if each else None for n, each in chosen.items()},
            }
        )
    )


if __name__ == "__main__":
    main()
