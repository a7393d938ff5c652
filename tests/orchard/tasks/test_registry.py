"""Tasks are found by their folders."""

from __future__ import annotations

import pytest

from orchard.errors import BadInput
from orchard.tasks import task, task_names


def test_every_folder_is_a_task() -> None:
    assert "image_classification" in task_names()
    for name in task_names():
        found = task(name)
        assert found.name == name
        assert found.title
        assert set(found.objectives)
        assert found.service_segment


def test_an_unknown_task_is_refused_with_the_known_ones() -> None:
    with pytest.raises(BadInput, match="image_classification"):
        task("telepathy")
