"""`python -m examples keyboard --folder DIR --count 200 --seed 7`: write an example set."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

from examples import sets
from orchard.errors import EXIT_BAD_INPUT, EXIT_DONE, OrchardError


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.lower().partition("x")
    try:
        return int(width), int(height)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size like 640x480") from error


class _Parser(argparse.ArgumentParser):
    """Leaves with the exit code of bad input."""

    def error(self, message: str) -> None:  # type: ignore[override]
        self.print_usage(sys.stderr)
        self.exit(EXIT_BAD_INPUT, f"{self.prog}: {message}\n")


def main(arguments: list[str] | None = None) -> int:
    """Write the set that the arguments ask for; returns the exit code."""
    parser = _Parser(prog="python -m examples", description="Write a seeded example set.")
    parser.add_argument("name", choices=sets.NAMES, help="which set")
    parser.add_argument("--folder", type=Path, required=True, help="where to write it")
    parser.add_argument("--count", type=int, default=200, help="samples a folder (200)")
    parser.add_argument("--seed", type=int, default=7, help="the same seed, the same bytes (7)")
    parser.add_argument("--size", type=_size, default=sets.SIZE, help="of a picture (640x480)")
    parser.add_argument("--first", type=int, default=0, help="number of the first sample (0)")
    chosen = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        counts = sets.generate(
            chosen.name, chosen.folder, chosen.count, chosen.seed, chosen.size, chosen.first
        )
    except OrchardError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    for label, number in counts.items():
        print(f"{label}: {number}")
    return EXIT_DONE


if __name__ == "__main__":
    sys.exit(main())
