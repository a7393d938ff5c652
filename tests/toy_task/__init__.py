"""A small task of texts that tests put into its two folders: nothing else knows of it."""

from __future__ import annotations

import shutil
from pathlib import Path

from orchard.settings import REPOSITORY

NAME = "short_text"
_PARTS = {
    "task.py": f"orchard/tasks/{NAME}/__init__.py",
    "trial.py": f"trainers/{NAME}/trial.py",
    "samples.py": f"tests/orchard/tasks/{NAME}/samples.py",
}

_LEFT = (".*", "__pycache__", "*.pyc")
"""What is no part of the program: environments, state, caches."""


def checkout(folder: Path) -> Path:
    """A copy of this checkout in which the task has its two folders, and its samples for tests."""
    shutil.copytree(REPOSITORY, folder, ignore=shutil.ignore_patterns(*_LEFT))
    for name, place in _PARTS.items():
        goal = folder / place
        goal.parent.mkdir(parents=True)
        goal.with_name("__init__.py").touch()
        shutil.copyfile(Path(__file__).with_name(name), goal)
    return folder
