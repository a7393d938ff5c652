"""What a person reaches with the generated example sets in five minutes, through the whole DAG.

    python -m bench.examples shelf floor floor_boxes meter machine [--minutes 5] [--count 250]

The stack has to be up. Each set is drawn from a new seed, which is printed, and built by a triggered
run with automatic approval; the figures are those of its report. Of the meter the endpoint is then
asked about further pictures, and what counts is the whole number: the digits found, sorted from left
to right, against the drawn ones.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from bench.main_job import table
from examples import sets
from orchard.api import importing, predicting, reports, training
from orchard.settings import settings

READ = "meter"
READINGS = 50
FIGURES = (
    "accuracy", "macro_f1", "ap50", "ap", "f1", "threshold", "test_samples", "branch", "seconds",
)  # fmt: skip


def build(name: str, count: int, minutes: int, seed: int) -> dict[str, Any]:
    """Draw a set and build a model of it; the report's figures with where the time went."""
    project = f"bench-{name.replace('_', '-')}-{seed}"
    folder = settings().home / "imports" / "bench" / project
    sets.generate(name, folder, count, seed)
    watched = training.start(
        {
            "project": project,
            "task": sets.task(name),
            "data": str(importing.stage(folder, project, print).location),
            "minutes": minutes,
            "approval": "floor",
            "floor": 0.0,
        }
    )
    training.watch(watched, lambda text: None)
    if not watched.published:
        raise training.failure_of(watched)
    for task, at, seconds in table(watched.run_id):
        print(f"{task:<40} begins {at:6.1f} s, takes {seconds:6.1f} s")
    figures = reports.report(project)
    return {key: figures[key] for key in FIGURES if key in figures} | {"project": project}


def read_meters(endpoint: str, count: int, seed: int) -> float:
    """Share of new pictures whose whole number the endpoint reads right."""
    right = 0
    with tempfile.TemporaryDirectory(prefix="bench-meter-") as folder:
        for number in range(count):
            files = sets.sample(READ, "scenes", number, seed)
            picture = Path(folder) / "meter.jpg"
            picture.write_bytes(files[".jpg"])
            answer = predicting.predict(endpoint, picture).answer
            found = sorted((each["location"]["left"], each["name"]) for each in answer["results"])
            right += "".join(name for _, name in found) == _drawn(files[".xml"])
    return right / count


def _drawn(xml: bytes) -> str:
    """The number that was drawn, from its Pascal VOC file."""
    digits = []
    for each in ElementTree.fromstring(xml).iter("object"):
        left, name = each.findtext("bndbox/xmin"), each.findtext("name")
        digits.append((float(left or 0), name or ""))
    return "".join(name for _, name in sorted(digits))


def main(arguments: Sequence[str] | None = None) -> None:
    """Build each set and print its figures as JSON."""
    parser = argparse.ArgumentParser(prog="bench.examples")
    parser.add_argument("names", nargs="+", choices=sets.NAMES)
    parser.add_argument("--minutes", type=int, default=5)
    parser.add_argument("--count", type=int, default=250, help="samples in all")
    given = parser.parse_args(arguments)
    for name in given.names:
        seed = int(time.time())
        print(f"{name}: seed {seed}, {given.count} samples, {given.minutes} minutes", flush=True)
        count = given.count // len(sets.labels(name))
        figures = build(name, count, given.minutes, seed)
        if name == READ:
            figures["read_right"] = read_meters(figures["project"], READINGS, seed + 1)
        print(json.dumps({"set": name, **figures}), flush=True)


if __name__ == "__main__":
    main()
