"""What holds for every DAG file: light to parse, documented, importing nothing it must not."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from operators.links import ALL
from orchard.settings import REPOSITORY
from tests.dags.conftest import FILES, load

HEAVY = {
    *("PIL", "fsspec", "kubernetes", "mlflow", "onnxruntime", "paddle", "pandas", "pyarrow"),
    *("pymongo", "pyspark", "sklearn"),
}
ALLOWED = ("airflow.sdk", "airflow.providers.standard", "operators", "orchard", "datetime")
LONGEST_SECONDS = 1.0


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_parses_fast_and_loads_nothing_heavy(path: Path, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "ORCHARD_HOME": str(tmp_path / "home"),
        "PYTHONPATH": str(REPOSITORY),
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.dags.parse_one", str(path)],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["dags"] == [path.stem]
    assert set(told["modules"]) & HEAVY == set()
    assert told["seconds"] <= LONGEST_SECONDS


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_imports_only_what_wiring_needs(path: Path) -> None:
    imported = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported += [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            imported.append(str(node.module))
    imported.remove("__future__")
    for name in imported:
        assert any(name == each or name.startswith(f"{each}.") for each in ALLOWED), name


@pytest.mark.parametrize("name", [path.stem for path in FILES])
def test_every_dag_and_task_says_what_it_does_and_what_to_do(
    modules: dict[str, Any], name: str
) -> None:
    dag = modules[name].dag
    assert dag.doc_md
    for task in dag.tasks:
        text = task.partial_kwargs["doc_md"] if task.is_mapped else task.doc_md
        assert text, task.task_id
        assert text.startswith("# "), task.task_id
        assert len(text) > 150, task.task_id


def test_no_page_belongs_to_nothing(modules: dict[str, Any]) -> None:
    used = {
        name for module in modules.values() for name in (module.dag.dag_id, *module.dag.task_ids)
    }
    pages = {path.stem for path in (REPOSITORY / "dags" / "docs").glob("*.md")}
    assert pages == used


@pytest.mark.parametrize("name", [path.stem for path in FILES])
def test_every_task_is_tried_again_with_pauses(modules: dict[str, Any], name: str) -> None:
    for task in modules[name].dag.tasks:
        given = task.partial_kwargs if task.is_mapped else vars(task)
        assert given["retries"] >= 3, task.task_id
        assert given["retry_delay"].total_seconds() >= 5, task.task_id


def test_no_run_is_made_up_for_the_past(modules: dict[str, Any]) -> None:
    assert all(module.dag.catchup is False for module in modules.values())


def test_the_plugin_registers_every_link(modules: dict[str, Any]) -> None:
    source = REPOSITORY / "plugins" / "orchard_plugin.py"
    plugin = load(source).OrchardPlugin
    registered = {type(each) for each in plugin.operator_extra_links}
    used = {
        type(link)
        for module in modules.values()
        for task in module.dag.tasks
        for link in task.operator_extra_links
        if type(link).__module__.startswith("operators.")
    }
    assert used == {type(each) for each in ALL}
    assert used <= registered
    assert len({link.name for link in ALL}) == len(ALL)
    assert [path.name for path in source.parent.glob("*.py")] == [source.name]
