"""Writes an example set to disk: the same bytes for the same seed.

A set of a task whose samples have one label has a folder a class. A set of scenes, whose labels lie
in a file beside each picture, has one folder.
"""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from examples import cart, floor, keyboard, machine, meter, photo, scene, shelf
from orchard.errors import BadInput

logger = logging.getLogger(__name__)

MARKER = ".example.json"
SIZE = (640, 480)

_DRAWING = 1
_FEWEST_FOR_PROCESSES = 60
_PIXELS = (64, 4096)
_SECONDS_BETWEEN_LINES = 3.0

_Files = Callable[[np.random.Generator, str, tuple[int, int]], dict[str, bytes]]


@dataclass(frozen=True)
class _Set:
    """One example set.

    Attributes:
        labels: the folders: the classes, or one for scenes.
        task: the name of the task that the set is for.
        files: the bytes of a sample's files by their ending, for a folder and a size in pixels.
        endings: of the files that each sample has.
    """

    labels: tuple[str, ...]
    task: str
    files: _Files
    endings: tuple[str, ...] = (".jpg",)


def _photos(draw: Callable[[np.random.Generator, str, tuple[int, int]], Image.Image]) -> _Files:
    """Samples of a class: a picture."""
    return lambda rng, label, size: {".jpg": photo.jpeg(rng, draw(rng, label, size))}


def _scenes(draw: Callable[[np.random.Generator, tuple[int, int]], scene.Scene]) -> _Set:
    """A set of pictures with boxes: a picture and its XML document."""
    return _Set(
        labels=("scenes",),
        task="object_detection",
        files=lambda rng, label, size: scene.files(rng, draw(rng, size)),
        endings=(".jpg", ".xml"),
    )


# A set's place is part of the seed of its samples: a new one goes to the end.
_SETS: dict[str, _Set] = {
    "cart": _Set(cart.LABELS, "image_classification", _photos(cart.draw)),
    "keyboard": _Set(keyboard.LABELS, "image_classification", _photos(keyboard.draw)),
    "floor": _Set(floor.LABELS, "image_classification", _photos(floor.draw)),
    "floor_boxes": _scenes(floor.draw_boxes),
    "shelf": _scenes(shelf.draw),
    "meter": _scenes(meter.draw),
    # At the end: a set's place is part of its seed.
    "machine": _Set(machine.LABELS, "sound_classification", machine.files, (".wav",)),
}
NAMES = tuple(_SETS)


@dataclass(frozen=True)
class _Order:
    """What was asked for; a finished folder of the same order is used again."""

    name: str
    count: int
    seed: int
    width: int
    height: int
    first: int
    drawing: int = _DRAWING


def _set(name: str) -> _Set:
    if name not in _SETS:
        raise BadInput(
            "There is no example set of that name",
            value=name,
            way_out=f"Choose one of: {', '.join(NAMES)}",
        )
    return _SETS[name]


def labels(name: str) -> tuple[str, ...]:
    """The folders of an example set: its classes, or one for a set of scenes.

    Raises:
        BadInput: there is no set of that name.
    """
    return _set(name).labels


def task(name: str) -> str:
    """The name of the task that an example set is for.

    Raises:
        BadInput: there is no set of that name.
    """
    return _set(name).task


def sample(
    name: str, label: str, index: int, seed: int, size: tuple[int, int] = SIZE
) -> dict[str, bytes]:
    """One sample of a set: the bytes of its files by their ending, which depend on the arguments.

    Args:
        name: the example set, one of `NAMES`.
        label: one of `labels(name)`.
        index: the sample's number, 0 or more; numbers that a written set does not hold give
            samples beyond it.
        seed: the set's seed, 0 or more.
        size: width and height of a picture in pixels.

    Raises:
        BadInput: the name or the label is unknown, or a number is out of range.
    """
    known = labels(name)
    if label not in known:
        raise BadInput(
            f"The example set {name} has no such class",
            value=label,
            way_out=f"Choose one of: {', '.join(known)}",
        )
    _check(_Order(name, 1, seed, size[0], size[1], index))
    rng = np.random.default_rng([seed, NAMES.index(name), known.index(label), index])
    return _SETS[name].files(rng, label, size)


def _check(order: _Order) -> None:
    for word, value, low, high in (
        ("count", order.count, 1, 1_000_000),
        ("seed", order.seed, 0, 2**63),
        ("first", order.first, 0, 2**62),
        ("width", order.width, *_PIXELS),
        ("height", order.height, *_PIXELS),
    ):
        if not low <= value <= high:
            raise BadInput(
                f"The {word} of an example set is out of range",
                value=value,
                way_out=f"Give a whole number from {low} to {high}",
            )


def _paths(folder: Path, name: str, label: str, index: int) -> dict[str, Path]:
    """Where a sample's files lie, by their ending."""
    return {
        ending: folder / label / f"{label}_{index:05d}{ending}" for ending in _SETS[name].endings
    }


def _write(job: tuple[str, str, int, int, tuple[int, int], str]) -> None:
    """Draw one sample and put each of its files in place whole; a sample that is there stays."""
    name, label, index, seed, size, folder = job
    targets = _paths(Path(folder), name, label, index)
    if all(target.exists() for target in targets.values()):
        return
    for ending, data in sample(name, label, index, seed, size).items():
        target = targets[ending]
        partial = Path(folder) / f".{target.name}.{os.getpid()}"
        partial.write_bytes(data)
        partial.replace(target)


def _prepare(folder: Path, order: _Order) -> bool:
    """Make the folders of an order; true where the set is already complete.

    Raises:
        BadInput: the folder holds something else.
    """
    marker = folder / MARKER
    finished = False
    if marker.exists():
        found = json.loads(marker.read_text(encoding="utf-8"))
        finished = bool(found.pop("finished", False))
        # It follows from the set's name; a marker without it is written anew.
        marked = found.pop("task", None) is not None
        if found != asdict(order):
            raise BadInput(
                "The folder holds another example set",
                value=str(folder),
                way_out="Choose another folder, or remove this one",
            )
        finished = finished and marked
    elif folder.exists() and any(folder.iterdir()):
        raise BadInput(
            "The folder for the example set is not empty",
            value=str(folder),
            way_out="Choose a new or an empty folder",
        )
    indices = range(order.first, order.first + order.count)
    if finished and all(
        path.exists()
        for label in labels(order.name)
        for index in indices
        for path in _paths(folder, order.name, label, index).values()
    ):
        return True
    for label in labels(order.name):
        (folder / label).mkdir(parents=True, exist_ok=True)
        for partial in folder.glob(f".{label}_*.*.*"):
            partial.unlink(missing_ok=True)
    _mark(folder, order, finished=False)
    return False


def _mark(folder: Path, order: _Order, *, finished: bool) -> None:
    partial = folder / f"{MARKER}.{os.getpid()}"
    content = {**asdict(order), "task": task(order.name), "finished": finished}
    text = json.dumps(content, indent=2)
    partial.write_text(text + "\n", encoding="utf-8")
    partial.replace(folder / MARKER)


@contextmanager
def _mapper(jobs: int, processes: int | None) -> Iterator[Callable[..., Iterable[None]]]:
    """`map`, spread over processes where the work is worth their start."""
    workers = processes or min(8, len(os.sched_getaffinity(0)))
    if workers < 2 or jobs < _FEWEST_FOR_PROCESSES:
        yield map
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        yield lambda function, values: pool.map(function, values, chunksize=8)


def generate(
    name: str,
    folder: Path,
    count: int,
    seed: int,
    size: tuple[int, int] = SIZE,
    first: int = 0,
    processes: int | None = None,
) -> dict[str, int]:
    """Write `count` samples of each folder to `folder/<label>/<label>_<index>.<ending>`.

    A finished folder of the same order is left as it is, and an interrupted one is completed.
    With another `first` (or another seed) the samples are others than those of the set. Above some
    sixty pictures processes are started, so a script that calls this needs the usual guard
    `if __name__ == "__main__"`, or `processes=1`.

    Args:
        name: the example set, one of `NAMES`.
        folder: where to write; new, empty, or of the same order.
        count: samples a folder, 1 or more.
        seed: the set's seed, 0 or more.
        size: width and height of the pictures, each 64 to 4096 pixels.
        first: the number of the first sample.
        processes: how many to draw with; by default one a usable core, at most eight.

    Returns:
        The number of samples of each folder.

    Raises:
        BadInput: the name is unknown, a number is out of range, or the folder holds something else.
    """
    counts = dict.fromkeys(labels(name), count)
    order = _Order(name, count, seed, size[0], size[1], first)
    _check(order)
    folder = Path(folder)
    if _prepare(folder, order):
        logger.info("%s: all %d samples are there already", name, sum(counts.values()))
        return counts
    jobs = [
        (name, label, index, seed, size, str(folder))
        for index in range(first, first + count)
        for label in counts
    ]
    begin = last = time.monotonic()
    with _mapper(len(jobs), processes) as spread:
        for done, _ in enumerate(spread(_write, jobs), start=1):
            now = time.monotonic()
            if done == len(jobs) or now - last >= _SECONDS_BETWEEN_LINES:
                last = now
                rate = done / max(1e-6, now - begin)
                logger.info(
                    "%s: %d of %d samples, %.0f a second, %.0f s left",
                    name,
                    done,
                    len(jobs),
                    rate,
                    (len(jobs) - done) / rate,
                )
    _mark(folder, order, finished=True)
    return counts
