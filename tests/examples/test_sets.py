"""Writing example sets: the same bytes for the same seed, whole files, folders used again."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from examples import sets
from orchard.errors import EXIT_BAD_INPUT, BadInput

ROOT = Path(__file__).resolve().parents[2]
SMALL = (160, 120)


def hashes(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.glob("*/*.*"))
    }


@pytest.mark.parametrize("name", sets.NAMES)
def test_the_files_of_each_folder_s_samples(name: str, tmp_path: Path) -> None:
    counts = sets.generate(name, tmp_path / "set", 3, 7, SMALL)
    assert counts == dict.fromkeys(sets.labels(name), 3)
    folders = {path.name for path in (tmp_path / "set").iterdir() if path.is_dir()}
    assert folders == set(sets.labels(name))
    for label in sets.labels(name):
        folder = tmp_path / "set" / label
        endings = tuple(sets.sample(name, label, 0, 7, SMALL))
        assert {path.name for path in folder.iterdir()} == {
            f"{label}_{index:05d}{ending}" for index in range(3) for ending in endings
        }
        for file in folder.glob("*.jpg"):
            with Image.open(file) as picture:
                assert (picture.format, picture.size) == ("JPEG", SMALL)
        firsts = {path.read_bytes() for path in folder.glob(f"*{endings[0]}")}
        assert len(firsts) == 3
    marker = json.loads((tmp_path / "set" / sets.MARKER).read_text())
    assert marker["task"] == sets.task(name)
    assert marker["finished"]


@pytest.mark.parametrize("name", ["cart"])
def test_processes_do_not_change_the_bytes(name: str, tmp_path: Path) -> None:
    count = 60 // len(sets.labels(name))
    sets.generate(name, tmp_path / "one", count, 7, (64, 64), processes=1)
    sets.generate(name, tmp_path / "two", count, 7, (64, 64), processes=2)
    assert hashes(tmp_path / "one") == hashes(tmp_path / "two")


def test_another_seed_or_number_gives_other_pictures() -> None:
    for name in sets.NAMES:
        label = sets.labels(name)[0]
        first = sets.sample(name, label, 0, 7, SMALL)
        assert first == sets.sample(name, label, 0, 7, SMALL)
        assert first != sets.sample(name, label, 0, 8, SMALL)
        assert first != sets.sample(name, label, 1, 7, SMALL)


@pytest.mark.parametrize(
    ("name", "label", "corner"),
    [
        ("cart", "with_goods", [[150, 138, 167, 134], [129, 154, 111, 107], [104, 86, 84, 93]]),
        ("keyboard", "wrong_key", [[81, 97, 105, 90], [109, 150, 166, 128], [80, 96, 117, 182]]),
    ],
)
def test_a_seed_s_pictures_stay_what_they_were(
    name: str, label: str, corner: list[list[int]]
) -> None:
    data = sets.sample(name, label, 3, 7, SMALL)[".jpg"]
    with Image.open(io.BytesIO(data)) as picture:
        tiny = np.asarray(picture.convert("L").resize((4, 3), Image.Resampling.BOX), dtype=int)
    # A step of grey leaves room for another processor's rounding.
    assert np.abs(tiny - corner).max() <= 1


def test_first_continues_the_numbers(tmp_path: Path) -> None:
    sets.generate("cart", tmp_path / "all", 4, 7, SMALL)
    sets.generate("cart", tmp_path / "rest", 2, 7, SMALL, first=2)
    whole = hashes(tmp_path / "all")
    rest = hashes(tmp_path / "rest")
    assert len(rest) == 4
    assert rest.items() <= whole.items()


def test_a_finished_folder_is_left_as_it_is(tmp_path: Path) -> None:
    sets.generate("cart", tmp_path, 2, 7, SMALL)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    sets.generate("cart", tmp_path, 2, 7, SMALL)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_an_interrupted_folder_is_completed(tmp_path: Path) -> None:
    sets.generate("cart", tmp_path, 3, 7, SMALL)
    whole = hashes(tmp_path)
    marker = json.loads((tmp_path / sets.MARKER).read_text())
    (tmp_path / sets.MARKER).write_text(json.dumps({**marker, "finished": False}))
    (tmp_path / "empty" / "empty_00001.jpg").unlink()
    partial = tmp_path / ".empty_00001.jpg.1"
    partial.write_bytes(b"half a pic")
    sets.generate("cart", tmp_path, 3, 7, SMALL)
    assert hashes(tmp_path) == whole
    assert not partial.exists()


def test_a_sample_that_lacks_a_file_is_completed(tmp_path: Path) -> None:
    sets.generate("floor_boxes", tmp_path, 2, 7, SMALL)
    whole = hashes(tmp_path)
    (tmp_path / "scenes" / "scenes_00001.xml").unlink()
    sets.generate("floor_boxes", tmp_path, 2, 7, SMALL)
    assert hashes(tmp_path) == whole


def test_a_marker_without_its_task_gets_it(tmp_path: Path) -> None:
    sets.generate("cart", tmp_path, 1, 7, SMALL)
    marker = json.loads((tmp_path / sets.MARKER).read_text())
    task = marker.pop("task")
    (tmp_path / sets.MARKER).write_text(json.dumps(marker))
    before = hashes(tmp_path)
    sets.generate("cart", tmp_path, 1, 7, SMALL)
    assert json.loads((tmp_path / sets.MARKER).read_text())["task"] == task
    assert hashes(tmp_path) == before


def test_a_folder_of_another_order_is_refused(tmp_path: Path) -> None:
    sets.generate("cart", tmp_path, 1, 7, SMALL)
    before = hashes(tmp_path)
    with pytest.raises(BadInput, match="another example set"):
        sets.generate("cart", tmp_path, 2, 7, SMALL)
    assert hashes(tmp_path) == before


def test_a_folder_with_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep me")
    with pytest.raises(BadInput, match="not empty"):
        sets.generate("cart", tmp_path, 1, 7, SMALL)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("count", "seed", "size", "first"),
    [
        (0, 7, SMALL, 0),
        (1, -1, SMALL, 0),
        (1, 7, (10, 120), 0),
        (1, 7, (160, 9000), 0),
        (1, 7, SMALL, -1),
    ],
)
def test_numbers_out_of_range_are_refused(
    count: int, seed: int, size: tuple[int, int], first: int, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match="out of range"):
        sets.generate("cart", tmp_path / "set", count, seed, size, first)
    assert not (tmp_path / "set").exists()


def test_unknown_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no example set"):
        sets.generate("bicycle", tmp_path, 1, 7)
    with pytest.raises(BadInput, match="no such class"):
        sets.sample("cart", "normal", 0, 7)


def test_the_command_writes_a_set_and_refuses_bad_input(tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "examples", *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    folder = str(tmp_path / "set")
    done = run("keyboard", "--folder", folder, "--count", "1", "--size", "160x120")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{label}: 1" for label in sets.labels("keyboard")]
    assert "3 of 3 samples" in done.stderr
    again = run("keyboard", "--folder", folder, "--count", "2", "--size", "160x120")
    assert again.returncode == EXIT_BAD_INPUT
    assert "another example set" in again.stderr
    assert run("bicycle", "--folder", folder).returncode == EXIT_BAD_INPUT
    assert run("cart", "--folder", folder, "--size", "wide").returncode == EXIT_BAD_INPUT


def test_a_picture_beyond_the_set_opens() -> None:
    data = sets.sample("keyboard", "wrong_key", 10_000, 7)[".jpg"]
    with Image.open(io.BytesIO(data)) as picture:
        assert picture.size == sets.SIZE
        picture.load()
