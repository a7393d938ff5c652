"""Sound classification: one class a recording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.classification import ClassificationTask
from orchard.tasks.base import Accepted, Answers, Ask, Limits, Planned, Refused, Scores, Verdict

Floats = NDArray[np.float32]


class SoundClassification(ClassificationTask):
    """Recordings in, one of K class names out; longer ones also with a time line.

    Judge, decoder and preprocessing are imported on the first use, so that what only reads labels
    or figures loads no sound library.
    """

    name = "sound_classification"
    title = "Sound classification"
    sample_word = "recording"
    service_segment = "sound_cls"
    service_field = "sound"
    label_kind = "class"
    sample_endings = frozenset(
        {".wav", ".wave", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".aifc"}
    )
    figure_words = {**ClassificationTask.figure_words, "test_samples": "recordings tested"}
    views = ("plain", "shift", "quiet", "noise", "slow", "fast", "mask")

    @property
    def near_bits(self) -> int:  # type: ignore[override]
        from orchard.tasks.sound_classification.fingerprint import NEAR_BITS

        return NEAR_BITS

    def judge(self, payload: bytes, path: str, limits: Limits) -> Accepted | Refused:
        from orchard.tasks.sound_classification.judge import judge_sound

        return judge_sound(payload, path, limits)

    def decode(self, payload: bytes, limits: Limits | None = None) -> Floats:
        """Bytes of a recording → (n,) float32, one channel, `SOUND_RATE` samples a second."""
        from orchard.decode.sound import decode_sound

        return decode_sound(payload, (limits or Limits()).maximum_seconds)

    def inputs(self, operations: Sequence[Mapping[str, Any]], decoded: NDArray[Any]) -> Floats:
        from orchard.preprocess.sound import apply

        return apply(operations, decoded)

    def view(self, inputs: Floats, name: str) -> Floats:
        from orchard.tasks.sound_classification.views import view

        return view(inputs, name)

    def answer(self, outputs: Floats, shape: tuple[int, ...], card: Mapping[str, Any]) -> Floats:
        """(R, K) scores → (R, 2 + K): begin and end of each window in seconds, then its scores."""
        from orchard.tasks.sound_classification.timeline import timed

        return timed(np.asarray(outputs, np.float32), shape[0], card["preprocessing"])

    def unflattened(self, flat: Floats, labels: Sequence[str]) -> Floats:
        from orchard.tasks.sound_classification.timeline import TIMES

        return np.asarray(flat, np.float32).reshape(-1, TIMES + len(labels))

    def verdict(self, answer: Floats, truth: Any, card: Mapping[str, Any]) -> Verdict:
        return super().verdict(_scores(answer), truth, card)

    def class_scores(self, answers: Answers) -> Scores:
        return super().class_scores(
            replace(answers, answers=[_scores(answer) for answer in answers.answers])
        )

    def response(
        self, answer: Floats, card: Mapping[str, Any], request: Mapping[str, Any]
    ) -> dict[str, Any]:
        """EasyDL's answer; `timeline` joins it where the recording has more than one window."""
        from orchard.tasks.sound_classification.timeline import timeline

        found = super().response(_scores(answer), card, request)
        if len(answer) > 1:
            found["timeline"] = timeline(answer, card["labels"])
        return found

    def difference(self, here: Mapping[str, Any], there: Mapping[str, Any]) -> float:
        from orchard.tasks.sound_classification.timeline import difference

        windows = difference(here.get("timeline", []), there.get("timeline", []))
        return max(super().difference(here, there), windows)

    def bands(self, fingerprint: bytes) -> tuple[int, ...]:
        from orchard.tasks.sound_classification.fingerprint import bands

        return bands(fingerprint)

    def sources(
        self, paths: Sequence[str], labels: Sequence[str]
    ) -> tuple[tuple[str, ...], str] | None:
        from orchard.tasks.sound_classification.sources import sources_of_names

        found = sources_of_names(paths, labels)
        return (found.sources, found.notice) if found else None

    def golden_payloads(self) -> tuple[bytes, ...]:
        from orchard.tasks.sound_classification.pictures import golden_payloads

        return golden_payloads()

    def thumbnail(
        self,
        payload: bytes,
        side: int,
        truth: Any = None,
        answer: Floats | None = None,
        card: Mapping[str, Any] | None = None,
    ) -> bytes:
        from orchard.tasks.sound_classification.pictures import thumbnail

        return thumbnail(payload, side)

    def plan(self, ask: Ask) -> Planned:
        from orchard.tasks.sound_classification.branching import plan

        return plan(ask)


def _scores(answer: Floats) -> Floats:
    from orchard.tasks.sound_classification.timeline import scores_of

    return scores_of(answer)


TASK = SoundClassification()
