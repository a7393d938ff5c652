"""The report as one HTML page that needs nothing else: style, drawings and pictures are inside."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from orchard.blobs import Blobs, SegmentReader
from orchard.bundle import Bundle
from orchard.errors import BadInput
from orchard.tasks import Task
from orchard.tasks import task as task_of

logger = logging.getLogger(__name__)

_TEMPLATES = Path(__file__).with_name("templates")


def render(report: Mapping[str, Any], pictures: Mapping[str, str]) -> str:
    """HTML of a report.

    Args:
        report: from `content.build`.
        pictures: data URIs by sample id, from `thumbnails`.
    """
    task = task_of(str(report["task"]))
    card = {"thresholds": report["model"]["thresholds"], "labels": report["model"]["labels"]}
    plots = [
        {
            "title": plot.title,
            "explanation": plot.explanation,
            "svg": Markup(plot.svg),
            "folded": plot.folded,
        }
        for plot in task.plots(report["metrics"], card)
    ]
    template = _environment().get_template("report.html")
    classes = task.class_table(report["metrics"], card, report["data"]["labels"])
    return template.render(report=report, plots=plots, pictures=pictures, classes=classes)


def thumbnails(
    blobs: Blobs, task: Task, bundle: Bundle, rows: Sequence[Mapping[str, Any]]
) -> dict[str, str]:
    """Small JPEGs as data URIs by sample id; samples that cannot be read are left out.

    Args:
        rows: sample_id, path, segment, offset, length; with annotation and answer (or null) where
            these are to be drawn.
    """
    reader = SegmentReader(blobs)
    found: dict[str, str] = {}
    try:
        for row in sorted(rows, key=lambda row: (row["segment"], row["offset"])):
            try:
                payload = reader.read(row["segment"], row["offset"], row["length"])
                jpeg = task.thumbnail(
                    payload, task.thumbnail_side, *_drawn(task, bundle, row), bundle.card
                )
            except BadInput as error:
                logger.info("No thumbnail of %s: %s", row["path"], error)
                continue
            encoded = base64.b64encode(jpeg).decode("ascii")
            found[str(row["sample_id"])] = f"data:image/jpeg;base64,{encoded}"
    finally:
        reader.close()
    return found


def _drawn(task: Task, bundle: Bundle, row: Mapping[str, Any]) -> tuple[Any, Any]:
    """Truth and answer of a row, each None where the row does not have it."""
    annotation, flat = row.get("annotation"), row.get("answer")
    return (
        None if annotation is None else json.loads(annotation),
        None if flat is None else task.unflattened(np.asarray(flat, np.float32), bundle.labels),
    )


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = _percent
    environment.filters["words"] = lambda name: str(name).replace("_", " ")
    return environment


def _percent(share: float | None) -> str:
    if share is None:
        return "—"
    value = 100 * share
    return f"{value:.1f} %" if 0 < share < 1 and (value > 99 or value < 1) else f"{value:.0f} %"
