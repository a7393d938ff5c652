"""The main job against the clock: 1,000 pictures of 640×480 in 10 classes, trigger to endpoint.

    python -m bench.main_job [--pictures 1000] [--minutes 1]

The stack has to be up. Features are not cached: every run makes its own pictures, from a seed that
is printed. The table says where the time goes, as Airflow noted it; tasks of one row run side by
side, and what no task accounts for is Airflow's own time between tasks.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from datetime import datetime
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from orchard.api import importing, reports, training
from orchard.api.airflow import Airflow
from orchard.settings import settings

CLASSES = ("disc", "ring", "square", "frame", "bar", "cross", "plus", "triangle", "stripes", "dots")
WIDTH, HEIGHT = 640, 480


def draw(kind: str, random: np.random.Generator) -> Image.Image:
    """One picture: a shape of random place, size and colours on a blurred, noisy ground."""
    low = random.integers(30, 220, (6, 8, 3)).astype(np.uint8)
    ground = Image.fromarray(low).resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC)
    size = int(random.integers(140, 300))
    left, top = (
        int(random.integers(10, WIDTH - size - 10)),
        int(random.integers(5, HEIGHT - size - 5)),
    )
    ink = tuple(int(value) for value in random.integers(0, 255, 3))
    pen = ImageDraw.Draw(ground)
    box = (left, top, left + size, top + size)
    third = size // 3
    match kind:
        case "disc":
            pen.ellipse(box, fill=ink)
        case "ring":
            pen.ellipse(box, outline=ink, width=size // 7)
        case "square":
            pen.rectangle(box, fill=ink)
        case "frame":
            pen.rectangle(box, outline=ink, width=size // 7)
        case "bar":
            pen.rectangle((left, top + third, left + size, top + 2 * third), fill=ink)
        case "cross":
            pen.line((left, top, left + size, top + size), fill=ink, width=size // 6)
            pen.line((left + size, top, left, top + size), fill=ink, width=size // 6)
        case "plus":
            pen.rectangle((left + third, top, left + 2 * third, top + size), fill=ink)
            pen.rectangle((left, top + third, left + size, top + 2 * third), fill=ink)
        case "triangle":
            pen.polygon(
                [(left, top + size), (left + size, top + size), (left + size // 2, top)], fill=ink
            )
        case "stripes":
            for offset in range(0, size, size // 5):
                pen.rectangle(
                    (left + offset, top, left + offset + size // 10, top + size), fill=ink
                )
        case _:
            for row in range(4):
                for column in range(4):
                    x, y = left + column * size // 4, top + row * size // 4
                    pen.ellipse((x, y, x + size // 7, y + size // 7), fill=ink)
    noisy = np.asarray(ground.filter(ImageFilter.GaussianBlur(1))) + random.normal(
        0, 6, (HEIGHT, WIDTH, 3)
    )
    return Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8))


def write(folder: Path, pictures: int, seed: int) -> None:
    """The set as a folder a class."""
    shutil.rmtree(folder, ignore_errors=True)
    for position, kind in enumerate(CLASSES):
        (folder / kind).mkdir(parents=True)
        for number in range(pictures // len(CLASSES)):
            random = np.random.default_rng([seed, position, number])
            draw(kind, random).save(folder / kind / f"{number:05}.jpg", quality=88)


def table(run_id: str) -> list[tuple[str, float, float]]:
    """(task, seconds after the trigger at which it began, seconds it took), in order."""
    with Airflow.connected() as airflow:
        run = airflow.run(run_id)
        begun = datetime.fromisoformat(run["queued_at"])
        rows = []
        for each in airflow.task_instances(run_id):
            if each["start_date"] and each["duration"] is not None:
                name = each["task_id"] + (
                    f" {each['rendered_map_index']}" if each["map_index"] >= 0 else ""
                )
                at = (datetime.fromisoformat(each["start_date"]) - begun).total_seconds()
                rows.append((name, at, float(each["duration"])))
    return sorted(rows, key=lambda row: row[1])


def main() -> None:
    """Run the job and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=1000)
    parser.add_argument("--minutes", type=int, default=2)
    given = parser.parse_args()
    seed = int(time.time())
    project = f"bench-{seed}"
    folder = settings().home / "imports" / "bench" / project
    print(f"Seed {seed}: {given.pictures} pictures of {WIDTH}×{HEIGHT} in {len(CLASSES)} classes")
    write(folder, given.pictures, seed)
    watched = training.start(
        {
            "project": project,
            "task": "image_classification",
            "data": str(importing.stage(folder, project, print).location),
            "minutes": given.minutes,
            "approval": "floor",
            "floor": 0.5,
        }
    )
    training.watch(watched, lambda text: None)
    if not watched.published:
        raise training.failure_of(watched)
    figures = reports.report(project)
    for name, at, seconds in table(watched.run_id):
        print(f"{name:<34} begins {at:6.1f} s, takes {seconds:6.1f} s")
    print(
        json.dumps({key: figures[key] for key in ("accuracy", "test_samples", "branch", "seconds")})
    )


if __name__ == "__main__":
    main()
