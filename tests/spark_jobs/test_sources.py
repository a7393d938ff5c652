"""The step `check` with real Spark: recordings of one voice stay in one split."""

from __future__ import annotations

import numpy as np
import pytest

from orchard.catalog import datasets
from orchard.catalog.connection import documents
from spark_jobs import check
from tests.orchard.odd_sounds import encoded
from tests.spark_jobs.intakes import DATASET, OWNER, manifest_of, refused_of, step, write_intake

pytestmark = pytest.mark.usefixtures("spark_session", "orchard_home")

VOICES = ("ada", "ben", "cleo", "dan", "eve", "finn")


def recordings(voices: tuple[str, ...], takes: int = 3) -> list[tuple[str, bytes]]:
    """`no/no_ada_0.wav` and so on; each of its own noise."""
    made = []
    for label in ("no", "yes"):
        for voice in voices:
            for take in range(takes):
                seed = [ord(letter) for letter in f"{label}{voice}{take}"]
                noise = np.random.default_rng(seed).normal(size=(12, 200)) * 0.05
                loudness = np.random.default_rng([*seed, 1]).random((12, 1))
                sound = (noise * loudness).ravel()
                made.append((f"{label}/{label}_{voice}_{take}.wav", encoded(sound)))
    return made


def checked(run_id: str, samples: list[tuple[str, bytes]]) -> tuple[dict, dict, dict]:
    """The manifest's rows by path, the summary, and what was refused."""
    of = step("check", run_id, task="sound_classification")
    write_intake(of, samples)
    check.body(of)
    newest = datasets.newest_version(documents(), OWNER, DATASET)
    assert newest is not None
    version = newest["version"]
    return manifest_of(of, version), newest["summary"], refused_of(of, version)


def test_voices_stay_together_and_later_recordings_join_them() -> None:
    odd = [("no/no_ada_9.wav", b"RIFF no sound"), ("yes/yes_ben_9.wav", b"")]
    rows, summary, refused = checked("r1", [*recordings(VOICES), *odd])
    assert refused == {"no/no_ada_9.wav": "corrupt", "yes/yes_ben_9.wav": "empty"}
    places: dict[str, set] = {voice: set() for voice in VOICES}
    for path, row in rows.items():
        places[path.split("_")[1]].add((row["group"], row["split"], row["fold"]))
    assert all(len(found) == 1 for found in places.values()), places
    found = {voice: next(iter(each)) for voice, each in places.items()}
    assert {group for group, *_ in found.values()} == {f"source:{voice}" for voice in VOICES}
    assert sorted(split for _, split, _ in found.values()) == ["test"] + ["train"] * 5
    assert sorted(fold for *_, fold in found.values()) == [-1, 0, 1, 2, 3, 4]
    assert summary["labels"] == {
        "no": {"train": 15, "validation": 0, "test": 3},
        "yes": {"train": 15, "validation": 0, "test": 3},
    }
    told = [text for text in summary["notices"] if "source" in text]
    assert len(told) == 1 and "ada" in told[0]
    assert summary["notices"][told[0]] == 36
    assert not any("look-alikes" in text for text in summary["advice"])

    more = [each for each in recordings(VOICES, takes=5) if each[0][-5] in "34"]
    after, *_ = checked("r2", [*more, *recordings(("gus",))])
    assert {path: after[path] for path in rows} == rows
    for path, _ in more:
        row = after[path]
        assert (row["group"], row["split"], row["fold"]) == found[path.split("_")[1]]
    assert len({after[path]["split"] for path, _ in recordings(("gus",))}) == 1


def test_names_that_are_not_certain_change_nothing() -> None:
    numbered = [(path.replace("_", "-", 1), payload) for path, payload in recordings(VOICES[:3])]
    rows, summary, _ = checked("r1", numbered)
    assert not any(row["group"].startswith("source:") for row in rows.values())
    assert not any("source" in text for text in summary["notices"])
