"""Sources that names of recordings tell."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from orchard.tasks.sound_classification.sources import sources_of_names

DIGITS = Path(__file__).parents[5] / "shared" / "data" / "sound_classification" / "spoken_digits"


def named(
    form: str, voices: list[str], takes: int = 4, classes: tuple[str, ...] = ("0", "1", "2")
) -> tuple[list[str], list[str]]:
    rows = list(itertools.product(classes, voices, range(takes)))
    paths = [
        f"{label}/{form.format(label=label, voice=voice, take=take)}" for label, voice, take in rows
    ]
    return paths, [label for label, *_ in rows]


VOICES = ["jackson", "lucas", "theo", "george"]


@pytest.mark.parametrize(
    "form", ["{label}_{voice}_{take}.wav", "{voice}-{take:03d}.flac", "{take} {voice}.mp3"]
)
def test_a_name_in_every_class_is_the_source(form: str) -> None:
    paths, labels = named(form, VOICES)
    found = sources_of_names(paths, labels)
    assert found is not None
    assert set(found.sources) == set(VOICES)
    assert all(source in path for source, path in zip(found.sources, paths, strict=True))
    assert "jackson" in found.notice and "4 sources" in found.notice


@pytest.mark.parametrize(
    ("form", "voices"),
    [
        ("{label}_{take}.wav", VOICES),  # only class and take
        ("{label}_{voice}_{take}.wav", ["1", "2", "3", "4"]),  # numbers may count anything
        ("{label}_{voice}_{take}.wav", VOICES[:3]),  # too few to hold one back
        ("{voice}_{voice}x_{take}.wav", VOICES),  # two places that tell alike
    ],
)
def test_uncertain_names_tell_nothing(form: str, voices: list[str]) -> None:
    assert sources_of_names(*named(form, voices)) is None


def test_names_of_different_forms_tell_nothing() -> None:
    paths, labels = named("{label}_{voice}_{take}.wav", VOICES)
    assert sources_of_names([*paths, "0/odd.wav"], [*labels, "0"]) is None
    assert sources_of_names([], []) is None


def test_a_part_that_goes_with_the_class_is_no_source() -> None:
    paths, labels = named("{voice}_{label}x_{take}.wav", VOICES[:2], classes=tuple("abcdef"))
    assert sources_of_names(paths, labels) is None


@pytest.mark.skipif(not DIGITS.is_dir(), reason="the shared recordings are not here")
def test_the_voices_of_the_spoken_digits_are_found() -> None:
    paths = sorted(str(path.relative_to(DIGITS)) for path in DIGITS.rglob("*.wav"))
    found = sources_of_names(paths, [path.split("/")[0] for path in paths])
    assert found is not None
    assert sorted(set(found.sources)) == ["s0", "s1", "s2", "s3", "s4", "s5"]
