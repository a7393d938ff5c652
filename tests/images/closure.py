"""What a program imports, followed through the program's own modules."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from orchard.settings import REPOSITORY


def modules_of(*folders: str) -> list[str]:
    """Every module below these folders of the repository, by dotted name."""
    return [
        ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__")
        for folder in folders
        for path in sorted((REPOSITORY / folder).rglob("*.py"))
    ]


def reached(starts: Iterable[str], own: Iterable[str]) -> tuple[set[str], set[str]]:
    """Modules of `own` folders that the starts import, and top names of others' packages.

    Imports inside of functions count: they happen when the program is at work.
    """
    mine, others = set(), set()
    waiting = list(starts)
    while waiting:
        name = waiting.pop()
        top = name.split(".")[0]
        if top not in own:
            if top not in sys.stdlib_module_names and top != "__future__":
                others.add(top)
            continue
        path = _path(name)
        if path is None or name in mine:
            continue
        mine.add(name)
        waiting.extend(_imports(path))
        waiting.extend(_packages(name))
    return mine, others


def _packages(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (".".join(parts[:length]) for length in range(1, len(parts)))


def _path(name: str) -> Path | None:
    path = REPOSITORY.joinpath(*name.split("."))
    found = (path / "__init__.py", path.with_suffix(".py"))
    return next((each for each in found if each.exists()), None)


@cache
def _imports(path: Path) -> tuple[str, ...]:
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(names)
