"""What `make up` makes once."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchard.blobs import Blobs, keys
from orchard.names import code_of
from orchard.settings import Settings
from orchard.stack import preparing


def test_backbones_are_made_once_and_again_when_their_code_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "code" / "trainers" / "backbones"
    package.mkdir(parents=True)
    (package / "one.py").write_text("graph = 1")
    monkeypatch.setattr(preparing, "REPOSITORY", tmp_path / "code")
    current = Settings(home=tmp_path / "home", blobs_uri=f"file://{tmp_path / 'blobs'}")
    blobs = Blobs(current.blobs_root)
    made: list[list[str]] = []

    def tool(command: list[str], environment: object, log: Path) -> None:
        made.append(command)
        blobs.write_json(keys.backbones_complete(), {"code": code_of(package), "files": []})

    monkeypatch.setattr(preparing, "_run_tool", tool)
    said: list[str] = []

    def up() -> int:
        preparing.backbones(current, {}, said.append)
        return len(made)

    assert [up(), up()] == [1, 1]
    assert made[0][1:] == ["-m", "trainers", "backbones", "--store"]
    (package / "two.py").write_text("graph = 2")
    assert [up(), up()] == [2, 2]
    # A store that an earlier version made knows nothing of its code.
    blobs.write_json(keys.backbones_complete(), ["one.onnx"])
    assert up() == len(said) == 3
