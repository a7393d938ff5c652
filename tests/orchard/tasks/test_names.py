"""A task's name stands in its own two folders and nowhere else in the program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchard.settings import REPOSITORY
from orchard.tasks import task_names

ROOMS = ("dags", "operators", "orchard", "plugins", "serving", "spark_jobs", "trainers")
TEXTS = frozenset({".py", ".html", ".md", ".css", ".json", ".yaml"})


def files() -> Iterator[Path]:
    for room in ROOMS:
        for path in sorted((REPOSITORY / room).rglob("*")):
            if path.suffix in TEXTS and "__pycache__" not in path.parts:
                yield path.relative_to(REPOSITORY)
    yield Path("Makefile")


@pytest.mark.parametrize("name", task_names())
def test_no_task_is_named_outside_its_folders(name: str) -> None:
    own = (Path("orchard/tasks") / name, Path("trainers") / name)
    word = re.compile(rf"\b{name}\b")
    named = [
        f"{path}:{number}"
        for path in files()
        if not any(folder in path.parents for folder in own)
        for number, line in enumerate((REPOSITORY / path).read_text().splitlines(), 1)
        if word.search(line)
    ]
    assert named == []


def test_each_task_has_its_two_folders() -> None:
    for name in task_names():
        for folder in ("orchard/tasks", "trainers"):
            assert (REPOSITORY / folder / name / "__init__.py").is_file(), f"{folder}/{name}"
