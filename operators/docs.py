"""The pages that Airflow shows beside a DAG and a task."""

from __future__ import annotations

from orchard.settings import REPOSITORY


def doc(name: str) -> str:
    """The Markdown of `dags/docs/<name>.md`. Raises FileNotFoundError where there is none."""
    return (REPOSITORY / "dags" / "docs" / f"{name}.md").read_text(encoding="utf-8")
