"""From a folder of labelled pictures to an answering endpoint, through the real stack."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from orchard.api.airflow import Airflow
from orchard.blobs import Blobs, keys
from orchard.catalog import changes
from orchard.catalog.connection import documents
from orchard.errors import BadInput
from orchard.names import build_id_of
from orchard.settings import settings
from orchard.stack import control
from tests.end_to_end import pictures
from tests.end_to_end.conftest import (
    form,
    orchard,
    states,
    wait_for,
    wait_for_end,
    wait_for_line,
)
from tests.programs import lives, working_on

PROJECT = "shapes"
RETRAIN_CRON = "* * * * *"


@pytest.fixture(scope="module")
def data(stack: Path) -> Path:
    """Eighty pictures of two kinds below the import root."""
    return pictures.write(stack / "imports" / "shapes", 40)


@pytest.fixture(scope="module")
def first(stack: Path, data: Path) -> dict[str, Any]:
    """The figures of a build that ran undisturbed, triggered by a person's command."""
    done = orchard("train", str(data), PROJECT, "--minutes", "1", "--floor", "0.5", "--json")
    return dict(json.loads(done.stdout))


def test_a_folder_becomes_an_endpoint_that_answers(
    stack: Path, first: dict[str, Any], tmp_path: Path
) -> None:
    assert first["task"] == "image_classification"
    assert first["endpoint"] == PROJECT
    assert first["test_samples"] >= 10
    assert first["accuracy"] >= 0.8
    assert 0 <= first["macro_f1"] <= 1
    assert 0 < first["seconds"] < 600
    assert len(first["bundle"]) == 16
    assert len(first["data_version"]) == 16

    picture = tmp_path / "new.jpg"
    pictures.draw("disc", 99_001).save(picture, quality=90)
    answered = json.loads(orchard("predict", PROJECT, str(picture), "--json").stdout)
    results = answered["answer"]["results"]
    assert {result["name"] for result in results} == {"disc", "square"}
    assert results[0]["score"] >= results[1]["score"]
    assert "curl" in answered["curl"]


def test_the_run_leaves_its_traces(airflow: Airflow, first: dict[str, Any]) -> None:
    run_id = first["run_id"]
    assert set(states(airflow, run_id).values()) == {"success"}
    trials = [each for each in airflow.task_instances(run_id) if each["task_id"] == "trial"]
    assert len(trials) >= 3
    assert all("px" in trial["rendered_map_index"] for trial in trials)

    for task_id in ("ingest", "check", "prepare", "select", "evaluate", "publish"):
        summary = airflow.returned(run_id, task_id)["summary"]
        wait_for_line(airflow, run_id, task_id, summary[:40])

    path = f"/api/v2/dags/build_model/dagRuns/{run_id}/taskInstances/evaluate/links"
    links = airflow.call("GET", path.replace("+", "%2B"))["extra_links"]
    assert links["Report"].startswith(settings().tracking_uri)

    runs = httpx.post(
        f"{settings().tracking_uri}/api/2.0/mlflow/runs/search",
        json={"experiment_ids": _experiments(), "max_results": 500},
        timeout=30,
    ).json()["runs"]
    names = {tag["value"] for run in runs for tag in run["data"].get("tags", [])}
    assert build_id_of("build_model", run_id) in names
    assert len(runs) >= 1 + len(trials)


def _experiments() -> list[str]:
    found = httpx.post(
        f"{settings().tracking_uri}/api/2.0/mlflow/experiments/search",
        json={"max_results": 100},
        timeout=30,
    ).json()["experiments"]
    return [each["experiment_id"] for each in found]


def test_the_report_is_one_page_that_needs_nothing_else(first: dict[str, Any]) -> None:
    page = (
        Blobs(settings().blobs_root)
        .read(keys.evaluation(settings().owner, first["build"]) + "/report.html")
        .decode()
    )
    assert "<svg" in page
    assert "data:image/jpeg;base64," in page or first["accuracy"] == 1
    assert 'src="http' not in page
    assert 'href="http' not in page


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"minutes": 0}, "minutes"),
        ({"minutes": 1000}, "minutes"),
        ({"project": "Not A Name"}, "project"),
        ({"objective": "beauty"}, "objective"),
        ({"floor": 2}, "floor"),
        ({"task": "telepathy"}, "task"),
        ({"data": ""}, "data"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_the_form_refuses_wrong_values(airflow: Airflow, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        airflow.trigger({**form("wrong", "/nowhere"), **wrong})


def test_bad_input_is_not_tried_again(airflow: Airflow, stack: Path) -> None:
    run_id = airflow.trigger(form("nothing", str(stack / "imports" / "not-there")))
    wait_for_end(airflow, run_id, "failed")
    ingest = next(t for t in airflow.task_instances(run_id) if t["task_id"] == "ingest")
    assert (ingest["state"], ingest["try_number"]) == ("failed", 1)
    wait_for_line(airflow, run_id, "ingest", "not-there")


@dataclass(frozen=True)
class Three:
    """Run ids: two of one project, the second of which asks a person, and one of another owner."""

    one: str
    two: str
    other: str


@pytest.fixture(scope="module")
def three(stack: Path, data: Path, first: dict[str, Any]) -> Three:
    """Runs that were triggered at once. The second, with a logical date as Airflow's own form gives
    it, has said for which run it waits, and awaits an answer; the others have ended."""
    with Airflow.connected() as airflow:
        one = airflow.trigger(form(PROJECT, str(data)))
        wait_for(lambda: states(airflow, one)["turn"] == "success", "the first run's turn")
        two = airflow.trigger(
            form(PROJECT, str(data), approval="person"), logical_date="2026-01-02T03:04:05Z"
        )
        other = airflow.trigger(form(PROJECT, str(data), owner="second", endpoint="shapes-second"))
        wait_for(
            lambda: (
                states(airflow, two)["turn"] == "up_for_reschedule"
                and any(one in line for line in airflow.log(two, "turn", 1))
            ),
            "the second run to say for which it waits",
            120,
            2,
        )
        wait_for_end(airflow, one)
        wait_for_end(airflow, other)
        wait_for(
            lambda: states(airflow, two)["approve"] == "awaiting_input", "the question to a person"
        )
    return Three(one, two, other)


def test_two_runs_of_one_project_take_turns_and_another_owner_goes_on(
    three: Three, first: dict[str, Any]
) -> None:
    """The one that waits says for which; the same data give the same bundle to anyone."""
    blobs = Blobs(settings().blobs_root)
    bundles = {
        blobs.read_json(keys.result(owner, build_id_of("build_model", run), "select"))["facts"][
            "bundle"
        ]
        for owner, run in (
            (settings().owner, three.one),
            (settings().owner, three.two),
            ("second", three.other),
        )
    }
    assert bundles == {first["bundle"]}
    documents_of = {each["owner"] for each in documents().versions.find({})}
    assert documents_of == {settings().owner, "second"}


def test_a_person_decides_and_the_no_keeps_what_is_in_service(
    airflow: Airflow, three: Three, first: dict[str, Any]
) -> None:
    run_id = three.two
    question = wait_for(lambda: airflow.question(run_id), "the question", 20)
    assert "| accuracy |" in question["body"]
    assert settings().tracking_uri in question["body"]
    time.sleep(3)
    airflow.answer(run_id, "Reject")
    wait_for_end(airflow, run_id)
    assert states(airflow, run_id)["publish"] == "skipped"
    assert json.loads(orchard("report", PROJECT, "--json").stdout)["bundle"] == first["bundle"]


def test_a_cleared_task_gives_the_same_again(airflow: Airflow, first: dict[str, Any]) -> None:
    airflow.call(
        "POST",
        "/api/v2/dags/build_model/clearTaskInstances",
        json={
            "dag_run_id": first["run_id"],
            "task_ids": ["select"],
            "include_downstream": True,
            "only_failed": False,
            "dry_run": False,
            "reset_dag_runs": True,
        },
    )
    wait_for(lambda: airflow.run(first["run_id"])["state"] != "success", "the cleared run", 30)
    wait_for_end(airflow, first["run_id"])
    again = json.loads(orchard("report", PROJECT, "--json").stdout)
    assert again["bundle"] == first["bundle"]


def test_marking_failed_ends_the_whole_process_tree(
    airflow: Airflow, stack: Path, data: Path
) -> None:
    run_id = airflow.trigger(form("ended", str(data)))
    build_id = build_id_of("build_model", run_id)
    wait_for(
        lambda: states(airflow, run_id)["check"] == "running" and working_on(build_id),
        "check to run",
        180,
        0.2,
    )
    tree = [
        child
        for each, _ in working_on(build_id)
        for child in (each, *each.children(recursive=True))
    ]
    airflow.call(
        "PATCH",
        f"/api/v2/dags/build_model/dagRuns/{run_id.replace('+', '%2B')}/taskInstances/check",
        json={"new_state": "failed"},
    )
    wait_for(lambda: not any(each.is_running() for each in tree), "the end of all processes", 40)
    assert not working_on(build_id)


def test_new_data_start_a_build_by_themselves(
    airflow: Airflow, stack: Path, first: dict[str, Any], tmp_path: Path
) -> None:
    """By the event; the champion stays where the challenger is not better by the margin."""
    orchard("retrain", PROJECT, "--samples", "10", "--margin", "0.5")
    few = pictures.write(tmp_path / "few", 2, first=500)
    orchard("import", str(few), PROJECT)
    wait_for(lambda: _said(airflow, "4 new samples, 10 are asked for"), "too few samples", 120, 2)
    more = pictures.write(tmp_path / "more", 6, first=600)
    orchard("import", str(more), PROJECT)
    run_id = wait_for(lambda: _retrained(airflow, PROJECT), "a build by the event", 150, 2)
    wait_for_end(airflow, run_id)
    told = states(airflow, run_id)
    assert (told["approve"], told["publish"]) == ("skipped", "skipped")
    assert json.loads(orchard("report", PROJECT, "--json").stdout)["bundle"] == first["bundle"]
    assert not changes.pending(documents(), settings().owner, PROJECT)
    wait_for(lambda: _said(airflow, "nothing new, nothing is started"), "nothing new", 150, 2)
    orchard("retrain", PROJECT, "--off")


def test_the_schedule_starts_a_build_of_what_was_brought(
    airflow: Airflow, stack: Path, first: dict[str, Any], tmp_path: Path
) -> None:
    before = _retrained(airflow, PROJECT)
    brought = pictures.write(tmp_path / "brought", 3, first=800)
    orchard("retrain", PROJECT, "--cron", "* * * * *")
    orchard("import", str(brought), PROJECT)
    run_id = wait_for(
        lambda: (found := _retrained(airflow, PROJECT)) != before and found, "a due build", 200, 2
    )
    orchard("retrain", PROJECT, "--off")
    wait_for_end(airflow, run_id)
    conf = airflow.run(run_id)["conf"]
    assert (conf["data"], conf["approval"]) == ("newest", "champion")


def _said(airflow: Airflow, text: str) -> bool:
    runs = airflow.call(
        "GET", "/api/v2/dags/retrain/dagRuns", params={"limit": 5, "order_by": "-run_after"}
    )["dag_runs"]
    for run in runs:
        path = f"/api/v2/dags/retrain/dagRuns/{run['dag_run_id'].replace('+', '%2B')}"
        try:
            answer = airflow.call("GET", f"{path}/taskInstances/find_due/logs/1")
        except BadInput:
            continue
        if text in json.dumps(answer["content"]):
            return True
    return False


def _retrained(airflow: Airflow, project: str) -> str | None:
    runs = airflow.call(
        "GET", "/api/v2/dags/build_model/dagRuns", params={"limit": 5, "order_by": "-run_after"}
    )["dag_runs"]
    name = f"retrain__{settings().owner}__{project}__"
    return next((r["dag_run_id"] for r in runs if r["dag_run_id"].startswith(name)), None)


def test_rollback_and_export(stack: Path, airflow: Airflow, tmp_path: Path) -> None:
    goal = tmp_path / "model.zip"
    orchard("export", PROJECT, str(goal))
    assert goal.stat().st_size > 1_000_000
    refused = orchard("rollback", "no-such-endpoint", "--json", check=False)
    assert refused.returncode == 64
    assert "no-such-endpoint" in refused.stdout


def test_tidying_keeps_what_is_in_use(airflow: Airflow, first: dict[str, Any]) -> None:
    """Nothing here is old; that projects are found and kept off is what the real servers show."""
    answer = airflow.call(
        "POST",
        "/api/v2/dags/tidy/dagRuns",
        json={"logical_date": None, "conf": {"days": 1, "builds": 1}},
    )
    run_id = str(answer["dag_run_id"])
    run = wait_for(
        lambda: (found := airflow.run(run_id, "tidy"))["state"] in {"success", "failed"} and found,
        "the end of tidying",
        120,
    )
    assert run["state"] == "success"
    build_id = build_id_of("tidy", run_id)
    key = keys.result(settings().owner, build_id, "remove")
    facts = Blobs(settings().blobs_root).read_json(key)["facts"]
    assert facts["removed"] == 0
    kept = documents().builds.find_one({"_id": build_id})
    assert kept is not None
    assert [settings().owner, PROJECT] in kept["parameters"]["projects"]
    assert json.loads(orchard("report", PROJECT, "--json").stdout)["bundle"] == first["bundle"]


def test_status_says_what_is_down_and_up_brings_it_back(stack: Path) -> None:
    before = {each.name: each for each in control.status()}
    assert all(each.up for each in before.values()), before
    pid = before["tracking"].pid
    assert pid is not None
    psutil.Process(pid).kill()
    wait_for(lambda: not lives(pid), "the end of a server", 10)
    told = orchard("status", check=False)
    assert told.returncode != 0
    assert "tracking" in told.stdout
    orchard("up")
    after = {each.name: each for each in control.status()}
    assert all(each.up for each in after.values()), after
    assert after["documents"].pid == before["documents"].pid
