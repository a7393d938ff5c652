"""The chart, rendered by Helm itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from orchard.settings import REPOSITORY

CHART = REPOSITORY / "helm" / "orchard"
Rendered = dict[str, Any]


@cache
def helm() -> str | None:
    """A Helm: of the path, or the one that `make helm` fetched; None where there is none."""
    cached = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "orchard"
    fetched = sorted(cached.glob("helm-*/helm"))
    return shutil.which("helm") or (str(fetched[-1]) if fetched else None)


def run(*arguments: str, values: Mapping[str, Any] | None = None) -> subprocess.CompletedProcess:
    """Helm with arguments, and values on its standard input."""
    program = helm()
    assert program is not None
    given = ("--values", "-") if values is not None else ()
    return subprocess.run(
        [program, *arguments, *given],
        input=json.dumps(values) if values is not None else None,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@cache
def _rendered(values: str, arguments: tuple[str, ...]) -> str:
    command = ("template", "models", str(CHART), "--namespace", "work", *arguments)
    done = run(*command, values=json.loads(values))
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def render(values: Mapping[str, Any] | None = None, *arguments: str) -> list[Rendered]:
    """All objects of the release `models` in the namespace `work`."""
    text = _rendered(json.dumps(values or {}), arguments)
    return [each for each in yaml.load_all(text, yaml.CSafeLoader) if each]


def refusal(values: Mapping[str, Any]) -> str:
    """What Helm says of values that it refuses."""
    done = run("template", "models", str(CHART), values=values)
    assert done.returncode != 0, "these values were taken"
    return str(done.stderr)


def of_kind(objects: list[Rendered], *kinds: str) -> list[Rendered]:
    return [each for each in objects if each["kind"] in kinds]


def named(objects: list[Rendered], kind: str, name: str) -> Rendered:
    found = [each for each in of_kind(objects, kind) if each["metadata"]["name"] == name]
    assert len(found) == 1, f"{kind} {name}: {[each['metadata']['name'] for each in objects]}"
    return found[0]


def pods(objects: list[Rendered]) -> Iterator[tuple[str, Rendered]]:
    """Every pod that the objects make, with labels and specification, and a name for messages.

    The pod of a step counts: it stands as text in a ConfigMap.
    """
    for each in of_kind(objects, "Deployment", "StatefulSet", "Job"):
        yield each["metadata"]["name"], each["spec"]["template"]
    for each in of_kind(objects, "ConfigMap"):
        if "pod.yaml" in each["data"]:
            yield each["metadata"]["name"], yaml.safe_load(each["data"]["pod.yaml"])


def containers(pod: Rendered) -> list[Rendered]:
    return [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]


def environment(container: Rendered) -> dict[str, Any]:
    return {each["name"]: each for each in container.get("env", [])}
