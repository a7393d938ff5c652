"""Writes the feature graph and the facts of every backbone into a folder (`trainers backbones`)."""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from orchard.blobs import Blobs, keys
from orchard.names import code_of
from orchard.settings import settings
from trainers.backbones import log_mel, speech_embedding, speech_graph
from trainers.backbones.core_speed import core_speed
from trainers.backbones.feature_graph import feature_graph
from trainers.backbones.graph import write_atomically
from trainers.backbones.maps import feature_maps, maps_facts, maps_graph
from trainers.backbones.registry import Backbone, backbones

logger = logging.getLogger(__name__)


def backbone_facts(backbone: Backbone, graph: bytes) -> dict[str, Any]:
    """What others need to know of a feature graph, as JSON.

    Keys: name, title, licence, source; normalisation (mean and scale a channel, in 0–255); layout
    (list of [block, "mean" or "max", start, stop]); feature_count; size_multiple; parameters;
    multiply_adds_per_pixel; milliseconds_per_megapixel (one thread, reference figure); sha256 and
    bytes of the graph.
    """
    return {
        "name": backbone.name,
        "title": backbone.title,
        "licence": backbone.licence,
        "source": backbone.source,
        "normalisation": {"mean": list(backbone.mean), "scale": list(backbone.scale)},
        "layout": [[s.block, s.pooling, s.start, s.stop] for s in backbone.layout],
        "feature_count": backbone.feature_count,
        "size_multiple": backbone.size_multiple,
        "parameters": backbone.parameters,
        "multiply_adds_per_pixel": backbone.multiply_adds_per_pixel,
        "milliseconds_per_megapixel": backbone.milliseconds_per_megapixel,
        "sha256": hashlib.sha256(graph).hexdigest(),
        "bytes": len(graph),
    }


def write_backbones(folder: Path) -> dict[str, Path]:
    """Write `<name>.onnx` and `<name>.json` of every backbone; the graphs' paths by name.

    A file that holds the right bytes already is left untouched. The graph is in place before the
    facts, which hold its hash.
    """
    paths = {}
    started = time.monotonic()
    for graph, facts in _graphs():
        text = json.dumps(facts, indent=1, sort_keys=True) + "\n"
        path = Path(folder) / f"{facts['name']}.onnx"
        changed = [_write(path, graph), _write(path.with_suffix(".json"), text.encode())]
        logger.info(
            "%s: %s, %.1f MB, %.2f s",
            facts["name"],
            "written" if any(changed) else "unchanged",
            len(graph) / 1e6,
            time.monotonic() - started,
        )
        paths[str(facts["name"])] = path
        started = time.monotonic()
    return paths


def cards() -> dict[str, dict[str, Any]]:
    """Facts of every backbone by name, as the store has them beside the graphs."""
    return {str(facts["name"]): facts for _, facts in _graphs()}


def _graphs() -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Each graph with its facts."""
    for backbone in backbones().values():
        graph = feature_graph(backbone)
        yield graph, backbone_facts(backbone, graph)
    for maps in feature_maps().values():
        graph = maps_graph(maps)
        yield graph, maps_facts(maps, graph)
    graph = speech_graph.feature_graph()
    yield graph, speech_embedding.facts(graph)
    graph = log_mel.feature_graph()
    yield graph, log_mel.facts(graph)


def _write(path: Path, data: bytes) -> bool:
    if path.is_file() and path.read_bytes() == data:
        return False
    write_atomically(path, data)
    return True


def store_backbones(blobs: Blobs) -> list[str]:
    """Put the files of every backbone into the store, where they are missing or were made by other
    code, and the speed of this machine's cores, where nobody has measured it; the files' names.

    The list of all names is written last: who finds it finds everything that it names.
    """
    code = code_of(Path(__file__).parent)
    complete = keys.backbones_complete()
    if not blobs.exists(keys.core_speed()):
        speed = core_speed(min(backbones().values(), key=lambda each: each.parameters))
        logger.info("A core here has %.2f times the speed of the cost tables' reference", speed)
        blobs.write_json(keys.core_speed(), speed)
    if blobs.exists(complete):
        made = blobs.read_json(complete)
        if isinstance(made, dict) and made["code"] == code:
            return []
    with tempfile.TemporaryDirectory() as folder:
        write_backbones(Path(folder))
        paths = sorted(Path(folder).glob("*.*"))
        for path in paths:
            blobs.write(f"{keys.backbones()}/{path.name}", path.read_bytes())
    names = [path.name for path in paths]
    blobs.write_json(complete, {"code": code, "files": names})
    return names


def main(arguments: Sequence[str]) -> int:
    """`python -m trainers backbones --folder DIR`, or `--store`."""
    parser = argparse.ArgumentParser(prog="trainers backbones", description=main.__doc__)
    goal = parser.add_mutually_exclusive_group(required=True)
    goal.add_argument("--folder", type=Path, help="where the files go")
    goal.add_argument("--store", action="store_true", help="into the store, where they are missing")
    given = parser.parse_args(arguments)
    if given.store:
        names = store_backbones(Blobs(settings().blobs_root))
        logger.info("%d files were missing in the store, or made by other code", len(names))
    else:
        write_backbones(given.folder)
    return 0
