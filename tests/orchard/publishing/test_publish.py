"""The publish step and going back, against real documents, MLflow and prediction service."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import httpx
import pytest

from orchard import settings as settings_module
from orchard.blobs import keys
from orchard.bundle import bundle_hash
from orchard.catalog import deployments
from orchard.errors import BadInput, OrchardError, TryAgain
from orchard.publishing import parity, registry, rollback, tokens
from orchard.publishing.publisher import BundleRefused
from orchard.steps import publish
from tests.orchard.publishing.conftest import OWNER, PROJECT, World
from tests.serving.bundles import picture

PATH = f"/rpc/2.0/ai_custom/v1/classification/{PROJECT}"


def ask(world: World) -> dict[str, Any]:
    """The endpoint's answer to a red picture, with the person's own token."""
    token = tokens.path_of(world.settings.home, PROJECT).read_text().strip()
    reply = httpx.post(
        f"{world.service.url}{PATH}",
        params={"access_token": token},
        content=picture("red"),
        headers={"Content-Type": "image/png"},
        trust_env=False,
    )
    answer: dict[str, Any] = reply.json()
    return answer


def live(world: World) -> list[str]:
    """Bundles that have traffic, as one process of the service says."""
    status = httpx.get(f"{world.service.url}/endpoints/{PROJECT}", trust_env=False).json()
    return [each["bundle"] for each in status["processes"][0]["bundles"]]


def champion(world: World) -> str:
    """Bundle that MLflow's alias names."""
    models = registry.Registry(world.settings.tracking_uri)
    query = {"name": f"{OWNER}.{PROJECT}", "alias": "champion"}
    version = models._call("GET", "registered-models/alias", query)["model_version"]
    return str({each["key"]: each["value"] for each in version["tags"]}["bundle"])


def use_settings(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what reads the process's settings find the world's."""
    monkeypatch.setattr("orchard.publishing.switching.settings", lambda: world.settings)
    assert settings_module.settings() is not world.settings


def test_first_and_second_model_and_the_way_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = world.bundle(4.0), world.bundle(2.0)
    facts = publish.body(world.step(first, "run-1"))
    assert facts["bundle"] == first
    assert facts["parity"]["samples"] == parity.SAMPLES
    assert facts["parity"]["difference"] <= parity.BOUND
    assert facts["url"] == f"{world.service.url}{PATH}"
    assert facts["endpoint_url"] == f"{world.service.url}/docs"
    assert ask(world)["results"][0]["name"] == "red"
    assert (live(world), champion(world)) == ([first], first)
    token_file = tokens.path_of(world.settings.home, PROJECT)
    assert stat.S_IMODE(token_file.stat().st_mode) == 0o600
    token = token_file.read_text().strip()
    document = deployments.get(world.documents, OWNER, PROJECT)
    assert token not in json.dumps({**document, "changed": ""}) + json.dumps(facts)
    assert document["token_hashes"] == [tokens.hash_of(token)]

    again = publish.body(world.step(first, "run-1"))
    assert again == facts

    publish.body(world.step(second, "run-2"))
    assert (live(world), champion(world)) == ([second], second)
    assert token_file.read_text().strip() == token

    use_settings(world, monkeypatch)
    rollback(world.documents, OWNER, PROJECT)
    assert (live(world), champion(world)) == ([first], first)
    rollback(world.documents, OWNER, PROJECT)
    assert (live(world), champion(world)) == ([second], second)


def test_parity_failure_keeps_the_champion(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = world.bundle(4.0), world.bundle(2.0)
    publish.body(world.step(first, "run-1"))
    before = ask(world)
    monkeypatch.setattr(parity, "BOUND", -1.0)
    with pytest.raises(parity.ParityFailed, match="What was live stays"):
        publish.body(world.step(second, "run-2"))
    assert (live(world), champion(world)) == ([first], first)
    assert ask(world)["results"] == before["results"]
    served = json.loads((world.settings.serving_root / PROJECT / "deployment.json").read_text())
    assert [each["bundle"] for each in served["bundles"]] == [first]
    assert len(served["token_hashes"]) == 1


def test_a_bundle_that_does_not_load_never_replaces_a_good_one(world: World) -> None:
    first, second = world.bundle(4.0), world.bundle(2.0)
    publish.body(world.step(first, "run-1"))
    with pytest.raises(BundleRefused, match="golden"):
        publish.body(world.step(_with_foreign_golden_scores(world, second), "run-2"))
    graph = Path(
        world.blobs.url(f"{keys.bundle(OWNER, second)}/model.onnx").removeprefix("file://")
    )
    graph.write_bytes(graph.read_bytes()[:-20])
    with pytest.raises(OrchardError, match="content has changed"):
        publish.body(world.step(second, "run-3"))
    assert (live(world), champion(world)) == ([first], first)
    assert ask(world)["results"][0]["name"] == "red"
    served = json.loads((world.settings.serving_root / PROJECT / "deployment.json").read_text())
    assert [each["bundle"] for each in served["bundles"]] == [first]


def test_a_failed_first_publication_leaves_no_endpoint(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parity, "BOUND", -1.0)
    with pytest.raises(parity.ParityFailed):
        publish.body(world.step(world.bundle(4.0), "run-1"))
    assert deployments.find(world.documents, OWNER, PROJECT) is None
    assert not (world.settings.serving_root / PROJECT).exists()


@pytest.mark.parametrize("where", ["switch", "publish", "point_champion"])
def test_a_death_in_the_middle_is_healed_by_a_repetition(
    world: World, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    first, second = world.bundle(4.0), world.bundle(2.0)
    publish.body(world.step(first, "run-1"))
    with monkeypatch.context() as patch:
        _die_after(patch, where)
        with pytest.raises(KeyboardInterrupt):
            publish.body(world.step(second, "run-2"))
    publish.body(world.step(second, "run-2"))
    assert (live(world), champion(world)) == ([second], second)
    document = deployments.get(world.documents, OWNER, PROJECT)
    assert [each["bundle"] for each in document["previous"]] == [first]
    models = registry.Registry(world.settings.tracking_uri)
    tags = [version["tags"] for version in models._versions(f"{OWNER}.{PROJECT}")]
    named = [each["value"] for tag in tags for each in tag if each["key"] == "bundle"]
    assert len(named) == len(set(named))


def test_what_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    use_settings(world, monkeypatch)
    first = world.bundle(4.0)
    publish.body(world.step(first, "run-1"))
    with pytest.raises(BadInput, match="nothing to go back to"):
        rollback(world.documents, OWNER, PROJECT)
    other = world.step(first, "run-3")
    other.build["project"] = "another"
    with pytest.raises(BadInput, match="serves the project 'colours'"):
        publish.body(other)
    world.service.process.terminate()
    world.service.process.wait(30)
    with pytest.raises(TryAgain, match="does not answer"):
        publish.body(world.step(world.bundle(2.0), "run-4"))


def _with_foreign_golden_scores(world: World, bundle: str) -> str:
    """A bundle in the store that is whole but has another one's graph. Returns its hash."""
    forged = world.folder / "forged"
    world.blobs.download_folder(keys.bundle(OWNER, bundle), forged)
    other = world.bundle(6.0)
    graph = world.blobs.read(f"{keys.bundle(OWNER, other)}/model.onnx")
    (forged / "model.onnx").write_bytes(graph)
    name = bundle_hash(forged)
    world.blobs.upload_folder(forged, keys.bundle(OWNER, name))
    return name


def _die_after(patch: pytest.MonkeyPatch, where: str) -> None:
    """Let the program die right after it did one thing of the way."""
    from orchard.publishing.folder import FolderPublisher

    owners: dict[str, tuple[Any, int]] = {
        "switch": (deployments, 1),
        "publish": (FolderPublisher, 2),
        "point_champion": (registry.Registry, 1),
    }
    owner, times = owners[where]
    real = getattr(owner, where)
    calls = 0

    def dying(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        result = real(*arguments, **named)
        calls += 1
        if calls == times:
            raise KeyboardInterrupt
        return result

    patch.setattr(owner, where, dying)
