"""Labels of classifiers: one class name a sample, as a JSON string."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def labels_of(annotation: Any) -> tuple[str, ...]:
    """The class name in an annotation as a tuple of one; empty for a sample without label."""
    return (annotation,) if isinstance(annotation, str) and annotation else ()


def renamed(annotation: Any, names: Mapping[str, str]) -> Any:
    """The annotation with its class name replaced where `names` has it."""
    return names.get(annotation, annotation) if isinstance(annotation, str) else annotation
