"""One function a verb: from arguments to a typed call, and from its result to lines."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from orchard.errors import OrchardError
from orchard.settings import settings
from orchard.stack import control

Given = argparse.Namespace


def up(given: Given) -> Any:
    """Start the stack."""
    conditions = control.up(_say(given))
    _table(given, conditions)
    return [asdict(each) for each in conditions]


def down(given: Given) -> Any:
    """Stop the stack."""
    return {"ended": control.down(_say(given))}


def status(given: Given) -> Any:
    """Say how the stack is; a fault where a server is down."""
    conditions = control.status()
    _table(given, conditions)
    dead = [each.name for each in conditions if not each.up]
    if (dead or not conditions) and not given.json:
        raise OrchardError(
            "The stack is not up", value=", ".join(dead) or "nothing", way_out="Start it: make up"
        )
    return [asdict(each) for each in conditions]


def clean(given: Given) -> Any:
    """Remove all state."""
    control.clean(_say(given))
    return {"removed": str(settings().home)}


def demo(given: Given) -> Any:
    """Run the main job."""
    from orchard.api import demo as demos

    control.up(_say(given), class_archive=False)
    figures = demos.demo(_say(given), count=given.count, minutes=given.minutes)
    _figures(given, figures)
    conditions = control.up(_say(given))
    _table(given, conditions)
    return figures


def import_data(given: Given) -> Any:
    """Bring data."""
    from orchard.api import importing

    imported = importing.import_data(Path(given.data), given.project, given.task, _say(given))
    _say(given)(
        f"{imported.files:,} files, {imported.bytes / 1e6:,.1f} MB wait in {imported.location}; "
        f"build with: python -m orchard train newest {given.project}"
    )
    return asdict(imported)


def train(given: Given) -> Any:
    """Build a model."""
    from orchard.api import importing, reports, training
    from orchard.names import NEWEST

    say = _say(given)
    data = given.data
    if data != NEWEST and "://" not in data:
        data = importing.stage(Path(data), given.project, say).location
    form = {
        "project": given.project,
        "task": importing.task_of(given.project, given.task),
        "data": data,
        "minutes": given.minutes,
        "objective": given.objective,
        "approval": "person" if given.floor is None else "floor",
        "endpoint": given.endpoint,
    }
    if given.floor is not None:
        form["floor"] = given.floor
    watched = training.start(form)
    say(f"Triggered: run {watched.run_id}, build {watched.build_id}")
    training.watch(watched, say, answer="Approve" if given.approve else None)
    if watched.state != "success":
        raise training.failure_of(watched)
    if not watched.published:
        say("The model was not put into service; what was in service stays")
    figures = reports.report(given.project, watched.build_id)
    _figures(given, figures)
    return figures


def predict(given: Given) -> Any:
    """Ask an endpoint."""
    from orchard.api import predicting

    prediction = predicting.predict(given.endpoint, Path(given.sample))
    for result in prediction.answer["results"]:
        place = result.get("location")
        where = "  at " + ", ".join(f"{k} {v}" for k, v in place.items()) if place else ""
        _say(given)(f"{result['score']:.4f}  {result['name']}{where}")
    _say(given)(f"Ask again:\n  {prediction.curl}")
    return {"answer": prediction.answer, "curl": prediction.curl}


def report(given: Given) -> Any:
    """Show the figures of the last published build."""
    from orchard.api import reports

    figures = reports.report(given.project)
    _figures(given, figures)
    return figures


def rollback(given: Given) -> Any:
    """Bring back the model before."""
    from orchard.api import serving

    done = serving.rollback(given.endpoint)
    _say(given)(f"{given.endpoint} answers with bundle {done['bundle']} again")
    return done


def token(given: Given) -> Any:
    """Make a new token."""
    from orchard.api import serving

    path = serving.new_token(given.endpoint)
    _say(given)(f"The token of {given.endpoint} lies in {path}; earlier ones have ended")
    return {"file": str(path)}


def export(given: Given) -> Any:
    """Write the live model away."""
    from orchard.api import exporting

    goal = exporting.export(given.endpoint, Path(given.goal))
    _say(given)(f"The model of {given.endpoint} lies in {goal}")
    return {"goal": str(goal)}


def retrain(given: Given) -> Any:
    """Switch retraining on or off."""
    from orchard import retraining
    from orchard.catalog.connection import documents

    owner = settings().owner
    if given.off:
        retraining.switch_off(documents(), owner, given.project)
        _say(given)(f"{given.project} is not retrained any more")
        return {"retrain": None}
    rule = retraining.switch_on(
        documents(),
        owner,
        given.project,
        cron=given.cron,
        minimum_samples=given.samples,
        margin=given.margin,
    )
    _say(given)(f"{given.project} is retrained: {rule}")
    return {"retrain": rule}


def _say(given: Given) -> Any:
    """Lines for a person; on standard error where a script reads the result."""
    stream = sys.stderr if given.json else sys.stdout
    return lambda text: print(text, file=stream, flush=True)


def _figures(given: Given, figures: dict[str, Any]) -> None:
    say = _say(given)
    say("")
    for name, value in figures.items():
        if isinstance(value, int | float | str):
            say(f"  {name:<20} {value}")


def _table(given: Given, conditions: list[control.Condition]) -> None:
    say = _say(given)
    say("")
    for each in conditions:
        say(f"  {each.name:<18} {'up' if each.up else 'DOWN':<5} {each.address:<34} {each.detail}")
    if conditions:
        user, password = control.login()
        say(f"\n  Airflow's login: {user} / {password}")
