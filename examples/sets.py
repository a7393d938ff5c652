"""Writes an example set to disk: a folder a class, the same bytes for the same seed."""

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

from examples import cart, keyboard, photo
from orchard.errors import BadInput

logger = logging.getLogger(__name__)

MARKER = ".example.json"
SIZE = (640, 480)

_DRAWING = 1
_FEWEST_FOR_PROCESSES = 60
_PIXELS = (64, 4096)
_SECONDS_BETWEEN_LINES = 3.0

_Draw = Callable[[np.random.Generator, str, tuple[int, int]], Image.Image]


@dataclass(frozen=True)
class _Set:
    labels: tuple[str, ...]
    draw: _Draw


_SETS: dict[str, _Set] = {
    "cart": _Set(cart.LABELS, cart.draw),
    "keyboard": _Set(keyboard.LABELS, keyboard.draw),
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


def labels(name: str) -> tuple[str, ...]:
    """The classes of an example set.

    Raises:
        BadInput: there is no set of that name.
    """
    if name not in _SETS:
        raise BadInput(
            "There is no example set of that name",
            value=name,
            way_out=f"Choose one of: {', '.join(NAMES)}",
        )
    return _SETS[name].labels


def picture(name: str, label: str, index: int, seed: int, size: tuple[int, int] = SIZE) -> bytes:
    """One picture of a set as JPEG bytes, which depend on the arguments alone.

    Args:
        name: the example set, one of `NAMES`.
        label: one of `labels(name)`.
        index: the picture's number, 0 or more; numbers that a written set does not hold give
            pictures beyond it.
        seed: the set's seed, 0 or more.
        size: width and height in pixels.

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
    return photo.jpeg(rng, _SETS[name].draw(rng, label, size))


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


def _path(folder: Path, label: str, index: int) -> Path:
    return folder / label / f"{label}_{index:05d}.jpg"


def _write(task: tuple[str, str, int, int, tuple[int, int], str]) -> None:
    """Draw one picture and put it in place whole; what is already there stays."""
    name, label, index, seed, size, folder = task
    target = _path(Path(folder), label, index)
    if target.exists():
        return
    partial = Path(folder) / f".{target.name}.{os.getpid()}"
    partial.write_bytes(picture(name, label, index, seed, size))
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
        if found != asdict(order):
            raise BadInput(
                "The folder holds another example set",
                value=str(folder),
                way_out="Choose another folder, or remove this one",
            )
    elif folder.exists() and any(folder.iterdir()):
        raise BadInput(
            "The folder for the example set is not empty",
            value=str(folder),
            way_out="Choose a new or an empty folder",
        )
    indices = range(order.first, order.first + order.count)
    if finished and all(
        _path(folder, label, index).exists() for label in labels(order.name) for index in indices
    ):
        return True
    for label in labels(order.name):
        (folder / label).mkdir(parents=True, exist_ok=True)
        for partial in folder.glob(f".{label}_*.jpg.*"):
            partial.unlink(missing_ok=True)
    _mark(folder, order, finished=False)
    return False


def _mark(folder: Path, order: _Order, *, finished: bool) -> None:
    partial = folder / f"{MARKER}.{os.getpid()}"
    text = json.dumps({**asdict(order), "finished": finished}, indent=2)
    partial.write_text(text + "\n", encoding="utf-8")
    partial.replace(folder / MARKER)


@contextmanager
def _mapper(tasks: int, processes: int | None) -> Iterator[Callable[..., Iterable[None]]]:
    """`map`, spread over processes where the work is worth their start."""
    workers = processes or min(8, len(os.sched_getaffinity(0)))
    if workers < 2 or tasks < _FEWEST_FOR_PROCESSES:
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
    """Write `count` pictures of each class to `folder/<label>/<label>_<index>.jpg`.

    A finished folder of the same order is left as it is, and an interrupted one is completed.
    With another `first` (or another seed) the pictures are others than those of the set. Above some
    sixty pictures processes are started, so a script that calls this needs the usual guard
    `if __name__ == "__main__"`, or `processes=1`.

    Args:
        name: the example set, one of `NAMES`.
        folder: where to write; new, empty, or of the same order.
        count: pictures a class, 1 or more.
        seed: the set's seed, 0 or more.
        size: width and height in pixels, each 64 to 4096.
        first: the number of the first picture.
        processes: how many to draw with; by default one a usable core, at most eight.

    Returns:
        The number of pictures of each class.

    Raises:
        BadInput: the name is unknown, a number is out of range, or the folder holds something else.
    """
    counts = dict.fromkeys(labels(name), count)
    order = _Order(name, count, seed, size[0], size[1], first)
    _check(order)
    folder = Path(folder)
    if _prepare(folder, order):
        logger.info("%s: all %d pictures are there already", name, sum(counts.values()))
        return counts
    tasks = [
        (name, label, index, seed, size, str(folder))
        for index in range(first, first + count)
        for label in counts
    ]
    begin = last = time.monotonic()
    with _mapper(len(tasks), processes) as spread:
        for done, _ in enumerate(spread(_write, tasks), start=1):
            now = time.monotonic()
            if done == len(tasks) or now - last >= _SECONDS_BETWEEN_LINES:
                last = now
                rate = done / max(1e-6, now - begin)
                logger.info(
                    "%s: %d of %d pictures, %.0f a second, %.0f s left",
                    name,
                    done,
                    len(tasks),
                    rate,
                    (len(tasks) - done) / rate,
                )
    _mark(folder, order, finished=True)
    return counts
