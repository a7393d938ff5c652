"""What `make up` makes once."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchard.blobs import Blobs, keys
from orchard.settings import Settings
from orchard.stack import preparing


def test_backbones_are_made_once_and_again_when_their_code_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = tmp_path / "code"
    package = code / "trainers" / "backbones"
    package.mkdir(parents=True)
    (package / "one.py").write_text("graph = 1")
    monkeypatch.setattr(preparing, "REPOSITORY", code)
    made = []

    def tool(command: list[str], environment: object, log: Path) -> None:
        folder = Path(command[-1])
        folder.mkdir(parents=True)
        (folder / "one.onnx").write_bytes(b"graph %d" % len(made))
        made.append(folder)

    monkeypatch.setattr(preparing, "_run_tool", tool)
    current = Settings(home=tmp_path / "home", blobs_uri=f"file://{tmp_path / 'blobs'}")
    blobs = Blobs(current.blobs_root)
    said: list[str] = []

    def up() -> bytes:
        preparing.backbones(current, {}, said.append)
        return blobs.read(keys.backbone("one"))

    assert [up(), up()] == [b"graph 0", b"graph 0"]
    assert len(said) == len(made) == 1 and not made[0].exists()
    (package / "two.py").write_text("graph = 2")
    assert [up(), up()] == [b"graph 1", b"graph 1"]
    # A store that an earlier version made knows nothing of its code.
    blobs.write_json(f"{keys.SHARED}/backbones.json", ["one.onnx"])
    assert up() == b"graph 2"
