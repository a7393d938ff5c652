"""The closed set of sound operations: its form, its check and the standard lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchard.decode.sound import SOUND_RATE
from orchard.preprocess.operations import bad_preprocessing, check_form, name_of

Operation = Mapping[str, Any]

FILLS = ("loop", "zeros")
MOST_SAMPLES = 1 << 22
MOST_WINDOWS = 64

_FORMS: dict[str, frozenset[str]] = {
    "resample": frozenset({"operation", "rate", "kernel"}),
    "window": frozenset({"operation", "samples", "hop", "count", "fill"}),
    "log_mel": frozenset({"operation", "fft", "hop", "bands", "low", "high", "range", "layout"}),
}
_ORDERS = (["resample", "window"], ["resample", "window", "log_mel"])
_CHOICES: dict[str, tuple[str, ...]] = {"kernel": ("cosine",), "fill": FILLS, "layout": ("CHW",)}
_WHOLE: dict[str, tuple[int, int]] = {
    "rate": (1_000, 384_000),
    "samples": (1, MOST_SAMPLES),
    "hop": (1, MOST_SAMPLES),
    "count": (0, MOST_WINDOWS),
    "fft": (16, 1 << 16),
    "bands": (1, 1024),
}


def standard(
    samples: int, *, hop: int | None = None, count: int = 0, fill: str = "loop"
) -> list[dict[str, Any]]:
    """The list for raw windows of `samples` at `SOUND_RATE`; by default half a window apart.

    Raises:
        BadInput: a number is out of its range.
    """
    operations: list[dict[str, Any]] = [
        {"operation": "resample", "rate": SOUND_RATE, "kernel": "cosine"},
        {
            "operation": "window",
            "samples": samples,
            "hop": max(1, samples // 2) if hop is None else hop,
            "count": count,
            "fill": fill,
        },
    ]
    validate(operations)
    return operations


def mel_operation(hop: int, *, bands: int = 128, fft: int = 1024) -> dict[str, Any]:
    """The `log_mel` for pictures of `bands` rows and a column every `hop` samples."""
    return {
        "operation": "log_mel",
        "fft": fft,
        "hop": hop,
        "bands": bands,
        "low": 50.0,
        "high": 7800.0,
        "range": 80.0,
        "layout": "CHW",
    }


def validate(operations: Sequence[Operation]) -> None:
    """Accept a list of the module's form or raise.

    Raises:
        BadInput: names the operation and the field that is missing, unknown or out of range.
    """
    if isinstance(operations, str | Mapping) or not isinstance(operations, Sequence):
        raise bad_preprocessing("Preprocessing must be a list of operations", operations)
    names = [name_of(operation, _FORMS) for operation in operations]
    if names not in _ORDERS:
        raise bad_preprocessing(
            "Preprocessing of sound must be resample, window, then log_mel or not", names
        )
    for operation in operations:
        _validate_fields(operation)
    if names[-1] == "log_mel":
        _validate_mel(operations[-1], rate_of(operations), window_of(operations)["samples"])


def rate_of(operations: Sequence[Operation]) -> int:
    """Samples a second inside of valid operations."""
    return int(operations[0]["rate"])


def window_of(operations: Sequence[Operation]) -> Operation:
    """The `window` of valid operations."""
    return operations[1]


def _validate_fields(operation: Operation) -> None:
    check_form(operation, _FORMS, _CHOICES)
    name = operation["operation"]
    for field, value in operation.items():
        if field in _WHOLE:
            low, high = _WHOLE[field]
            if type(value) is not int or not low <= value <= high:
                raise bad_preprocessing(
                    f"{name}: {field} must be a whole number from {low} to {high}", value
                )


def _validate_mel(operation: Operation, rate: int, samples: int) -> None:
    low, high, decibels = operation["low"], operation["high"], operation["range"]
    numbers = all(
        isinstance(each, int | float) and type(each) is not bool for each in (low, high, decibels)
    )
    if not numbers or not 0 <= low < high <= rate / 2 or not 1 <= decibels <= 200:
        raise bad_preprocessing(
            "log_mel: 0 ≤ low < high ≤ half of the rate, and a range of 1 to 200, are needed",
            [low, high, decibels],
        )
    if operation["fft"] % 2 or operation["hop"] > samples:
        raise bad_preprocessing(
            "log_mel: fft must be even and hop not longer than a window",
            [operation["fft"], operation["hop"]],
        )
