"""The closed set of operations: its form, its check and the standard list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchard.errors import BadInput

PREPROCESSING_VERSION = 1
FITS = ("squash", "crop", "pad")
LARGEST_SIDE = 4096
_LARGEST_NUMBER = 1e6

Operation = Mapping[str, Any]

MOST_TILES = 8
"""Tiles side by side, and one below the other."""
MOST_OVERLAP = 50

_FORMS: dict[str, frozenset[str]] = {
    "resize": frozenset({"operation", "fit", "width", "height", "kernel"}),
    "mirror": frozenset({"operation"}),
    "normalise": frozenset({"operation", "mean", "scale", "layout", "channels"}),
    "tiles": frozenset({"operation", "columns", "rows", "overlap"}),
}
_ORDERS = (
    ["resize", "normalise"],
    ["resize", "mirror", "normalise"],
    ["tiles", "resize", "normalise"],
)
_WHOLE_NUMBERS = {"columns": (1, MOST_TILES), "rows": (1, MOST_TILES), "overlap": (0, MOST_OVERLAP)}
_CHOICES: dict[str, tuple[str, ...]] = {
    "fit": FITS,
    "kernel": ("bilinear",),
    "layout": ("CHW",),
    "channels": ("RGB", "BGR"),
}


def feature_key(backbone: str, form: str, graph: str) -> str:
    """Name of one kind of cached features.

    Args:
        form: what else they depend on, in words joined by hyphens ("224-squash").
        graph: sha256 of the backbone's graph.
    """
    return f"{backbone}-{form}{feature_ending(graph)}"


def feature_ending(graph: str) -> str:
    """How the name of a kind of features ends: what they were computed by."""
    return f"-p{PREPROCESSING_VERSION}-{graph[:8]}"


def standard(size: int, fit: str) -> list[dict[str, Any]]:
    """The list for EfficientNet-Lite: (size, size) pixels, (value − 127) / 128, RGB planes.

    Raises:
        BadInput: size is not 1 … `LARGEST_SIDE`, or fit is not one of `FITS`.
    """
    operations: list[dict[str, Any]] = [
        {"operation": "resize", "fit": fit, "width": size, "height": size, "kernel": "bilinear"},
        {
            "operation": "normalise",
            "mean": 127.0,
            "scale": 0.0078125,
            "layout": "CHW",
            "channels": "RGB",
        },
    ]
    validate(operations)
    return operations


def normalised(
    operations: Sequence[Operation], normalisation: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The list with the normalisation that a backbone's card names.

    Args:
        normalisation: `mean` and `scale` a channel; the input is (value − mean) / scale.
    """
    changed = [dict(operation) for operation in operations]
    changed[-1]["mean"] = _one_or_three(normalisation["mean"])
    changed[-1]["scale"] = _one_or_three([1.0 / value for value in normalisation["scale"]])
    validate(changed)
    return changed


def _one_or_three(values: Sequence[float]) -> float | list[float]:
    return float(values[0]) if len(set(values)) == 1 else [float(value) for value in values]


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
            "Preprocessing must be resize, then mirror or not, then normalise, or tiles before "
            "resize and normalise",
            names,
        )
    for operation in operations:
        _validate_fields(operation)


def output_size(operations: Sequence[Operation]) -> tuple[int, int]:
    """(H, W) of what `apply` returns for valid operations."""
    resize = of_one(operations)[0]
    return resize["height"], resize["width"]


def of_one(operations: Sequence[Operation]) -> Sequence[Operation]:
    """What is done to each rectangle of the picture: the operations without the tiles."""
    return operations[1:] if operations[0]["operation"] == "tiles" else operations


def input_count(operations: Sequence[Operation]) -> int:
    """How many inputs valid operations make of a picture: one, or one a tile and one of the whole."""
    first = operations[0]
    return first["columns"] * first["rows"] + 1 if first["operation"] == "tiles" else 1


def name_of(operation: object, forms: Mapping[str, frozenset[str]]) -> str:
    """The operation's name. Raises BadInput where it is none of `forms`."""
    name = operation.get("operation") if isinstance(operation, Mapping) else None
    if not isinstance(name, str) or name not in forms:
        raise bad_preprocessing(f"An operation must be one of {', '.join(forms)}", operation)
    return name


def check_form(
    operation: Operation,
    forms: Mapping[str, frozenset[str]],
    choices: Mapping[str, tuple[str, ...]],
) -> None:
    """Raise BadInput where the operation has other fields than its form, or another value than a
    choice has."""
    name = operation["operation"]
    if operation.keys() != forms[name]:
        fields = ", ".join(sorted(forms[name]))
        raise bad_preprocessing(
            f"The operation {name} must have exactly the fields {fields}", dict(operation)
        )
    for field, value in operation.items():
        if field in choices and value not in choices[field]:
            raise bad_preprocessing(
                f"{name}: {field} must be one of {', '.join(choices[field])}", value
            )


def _validate_fields(operation: Operation) -> None:
    check_form(operation, _FORMS, _CHOICES)
    name = operation["operation"]
    for field, value in operation.items():
        if field in ("width", "height") and not _is_side(value):
            raise bad_preprocessing(
                f"{name}: {field} must be a whole number from 1 to {LARGEST_SIDE}", value
            )
        least, most = _WHOLE_NUMBERS.get(field, (0, 0))
        if field in _WHOLE_NUMBERS and not _is_whole(value, least, most):
            raise bad_preprocessing(
                f"{name}: {field} must be a whole number from {least} to {most}", value
            )
        if field in ("mean", "scale") and not _is_number_or_three(value):
            raise bad_preprocessing(f"{name}: {field} must be a number or a list of three", value)


def _is_side(value: object) -> bool:
    return _is_whole(value, 1, LARGEST_SIDE)


def _is_whole(value: object, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _is_number_or_three(value: object) -> bool:
    if isinstance(value, list | tuple):
        return len(value) == 3 and all(_is_number(part) for part in value)
    return _is_number(value)


def _is_number(value: object) -> bool:
    return (
        isinstance(value, int | float) and type(value) is not bool and abs(value) <= _LARGEST_NUMBER
    )


def bad_preprocessing(headline: str, value: object) -> BadInput:
    """The refusal of a list or of pixels, with the value that was given."""
    return BadInput(
        headline,
        value=value,
        way_out=f"Take the list from the bundle (preprocessing version {PREPROCESSING_VERSION})",
    )
