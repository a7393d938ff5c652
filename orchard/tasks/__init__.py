"""Tasks by name. A task is a folder here; nothing outside its folder names it."""

from __future__ import annotations

import importlib
import pkgutil
from functools import lru_cache

from orchard.errors import BadInput
from orchard.tasks.base import (
    Accepted,
    Answers,
    Finding,
    Given,
    Limits,
    Plot,
    Refused,
    Settled,
    Task,
)

__all__ = [
    "Accepted",
    "Answers",
    "Finding",
    "Given",
    "Limits",
    "Plot",
    "Refused",
    "Settled",
    "Task",
    "task",
    "task_names",
]


@lru_cache(maxsize=1)
def task_names() -> tuple[str, ...]:
    """Names of all tasks, sorted: the folders of this package."""
    return tuple(sorted(found.name for found in pkgutil.iter_modules(__path__) if found.ispkg))


@lru_cache(maxsize=16)
def task(name: str) -> Task:
    """The task of a name. Raises BadInput where there is none."""
    if name not in task_names():
        raise BadInput(
            "There is no such task", value=name, way_out=f"Choose one of {', '.join(task_names())}"
        )
    found = importlib.import_module(f"{__name__}.{name}").TASK
    if not isinstance(found, Task) or found.name != name:
        raise TypeError(f"orchard/tasks/{name} does not expose TASK, a Task named {name!r}")
    return found
