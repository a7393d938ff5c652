"""The DAGs, parsed once."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from orchard.settings import REPOSITORY

FILES = sorted((REPOSITORY / "dags").glob("*.py"))


def load(path: Path) -> Any:
    """A DAG file as a module."""
    spec = importlib.util.spec_from_file_location(f"parsed_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def modules() -> dict[str, Any]:
    """Every DAG file as a module, by its name."""
    return {path.stem: load(path) for path in FILES}
