"""The step `check` with real Spark: recordings of one voice stay in one split."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchard.catalog import datasets
from orchard.catalog.connection import documents
from spark_jobs import check
from tests.orchard.odd_sounds import encoded
from tests.spark_jobs.intakes import DATASET, OWNER, manifest_of, refused_of, step, write_intake

pytestmark = pytest.mark.usefixtures("spark_session", "orchard_home")

VOICES = ("ada", "ben", "cleo", "dan", "eve", "finn")


def recordings(
    voices: tuple[str, ...], takes: int = 3, *, loud: float = 0.05
) -> list[tuple[str, bytes]]:
    """`no/no_ada_0.wav` and so on; each of its own noise."""
    made = []
    for label in ("no", "yes"):
        for voice in voices:
            for take in range(takes):
                seed = [ord(letter) for letter in f"{label}{voice}{take}"]
                noise = np.random.default_rng(seed).normal(size=(12, 200)) * loud
                loudness = np.random.default_rng([*seed, 1]).random((12, 1))
                sound = (noise * loudness).ravel()
                made.append((f"{label}/{label}_{voice}_{take}.wav", encoded(sound)))
    return made


def checked(run_id: str, samples: list[tuple[str, bytes]], **said: Any) -> tuple[dict, dict, dict]:
    """The manifest's rows by path, the summary, and what was refused."""
    of = step("check", run_id, task="sound_classification")
    write_intake(of, samples, **said)
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


def test_a_column_counts_before_names_and_places_stay() -> None:
    samples = recordings(VOICES, takes=2)
    teams = {"ada": "red", "ben": "red", "cleo": "blue", "dan": "green", "eve": "white"}
    origins = {path: teams.get(path.split("_")[1]) for path, _ in samples}
    copy = ("no/no_dan_copy.wav", samples[0][1])
    first = ("no/no_ada_0.wav", "red"), ("no/no_dan_copy.wav", "green")
    assert samples[0][0] == first[0][0]
    rows, summary, _ = checked("r1", [*samples, copy], origins={**origins, **dict(first)})
    # Two sources are told of one content: the first by name counts.
    assert rows["no/no_ada_0.wav"]["group"] == "source:green"
    places: dict[str, set] = {}
    for path, row in rows.items():
        team = origins[path]
        if team and path != "no/no_ada_0.wav":
            assert row["group"] == f"source:{team}"
            places.setdefault(team, set()).add((row["split"], row["fold"]))
        elif not team:
            assert row["group"] == row["sample_id"]
    assert all(len(found) == 1 for found in places.values()), places
    assert "test" in {split for found in places.values() for split, _ in found}
    told = {text: count for text, count in summary["notices"].items() if "source" in text}
    assert sorted(told.values()) == [1, 20]
    assert any("4 sources (blue, green, red, white)" in text for text in told)

    # The same again is the same version; later recordings join their source or found one.
    again, *_ = checked("r2", samples, origins=origins)
    assert again == rows
    more = [each for each in recordings(("ada", "eve", "gus"), takes=4) if each[0][-5] in "23"]
    # One recording of a new source is a settled one of no source, only louder: it takes the others
    # of its source to training, which by its hash would be tested on.
    twin = recordings(("finn",), takes=1, loud=0.06)[0]
    more.append((twin[0].replace("finn", "gus"), twin[1]))
    teams["gus"] = "navy"
    after, *_ = checked("r3", more, origins={path: teams[path.split("_")[1]] for path, _ in more})
    assert {path: after[path] for path in rows} == rows
    for path, _ in more:
        team = teams[path.split("_")[1]]
        places.setdefault(team, set()).add((after[path]["split"], after[path]["fold"]))
        assert after[path]["group"] == f"source:{team}"
    settled = rows[twin[0]]
    assert places["navy"] == {(settled["split"], settled["fold"])}
    assert len(places) == 5 and all(len(found) == 1 for found in places.values()), places
