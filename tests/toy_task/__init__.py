"""A small task of texts that tests put into its two folders: nothing else knows of it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from orchard.settings import REPOSITORY

NAME = "short_text"
_PARTS = {
    "task.py": f"orchard/tasks/{NAME}/__init__.py",
    "trial.py": f"trainers/{NAME}/trial.py",
    "samples.py": f"tests/orchard/tasks/{NAME}/samples.py",
}


def checkout(folder: Path) -> Path:
    """A copy of this checkout in which the task has its two folders, and its samples for tests."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        check=True,
    )
    for name in listed.stdout.decode().split("\0"):
        source, goal = REPOSITORY / name, folder / name
        if name and source.is_file():
            goal.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, goal)
    for name, place in _PARTS.items():
        goal = folder / place
        goal.parent.mkdir(parents=True)
        goal.with_name("__init__.py").touch()
        shutil.copyfile(Path(__file__).with_name(name), goal)
    return folder
