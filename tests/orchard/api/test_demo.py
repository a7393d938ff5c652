"""The demo's own first step."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples import sets
from orchard.api.demo import demo, task_of
from orchard.errors import BadInput


def test_a_count_that_the_example_does_not_take_is_no_traceback(
    orchard_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(BadInput, match="could not be drawn"):
        demo(lambda text: None, count=0)
    assert "count of an example set is out of range" in capfd.readouterr().err


def test_the_task_is_the_one_that_the_example_set_is_for(tmp_path: Path) -> None:
    for name in ("cart", "shelf"):
        sets.generate(name, tmp_path / name, 1, 7, (64, 64))
        assert task_of(tmp_path / name) == sets.task(name)
