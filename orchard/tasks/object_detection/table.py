"""Figures of each class as a table of the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchard.tasks.base import Table

_HEADS = ("class", "training pictures", "test objects", "AP50", "AP50:95", "precision", "recall")
_MORE = ("F1", "count off by", "count right", "own threshold")


def class_table(
    metrics: Mapping[str, Any], card: Mapping[str, Any], labels: Mapping[str, Any]
) -> Table:
    """One row a class; `labels` has the pictures that hold it, by class and split."""
    rows = []
    for label, row in metrics["per_class"].items():
        names = ("ap50", "ap", "precision", "recall", "f1", "count_error", "count_right")
        figures = ["—" if row[name] is None else f"{row[name]:.3f}" for name in names]
        trained = labels.get(label, {}).get("train", 0)
        own = card["thresholds"]["per_class"].get(label)
        limit = "—" if own is None else f"{own:.3f}"
        rows.append((label, f"{trained}", f"{row['support']}", *figures, limit))
    return Table((*_HEADS, *_MORE), tuple(rows))
