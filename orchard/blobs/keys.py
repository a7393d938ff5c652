"""The keys of all bytes. Every key begins with the owner."""

from __future__ import annotations

SHARED = "shared"
"""The owner of what belongs to nobody: backbones."""


def backbone(name: str) -> str:
    """Feature graph of a backbone; `<key>.json` beside it describes it."""
    return f"{SHARED}/backbones/{name}.onnx"


def backbone_card(name: str) -> str:
    """Description of a backbone's feature graph."""
    return f"{SHARED}/backbones/{name}.json"


def backbones() -> str:
    """Folder of all feature graphs and cards."""
    return f"{SHARED}/backbones"


def backbones_complete() -> str:
    """Which code made the backbones, and the names of their files; there when all of them are."""
    return f"{SHARED}/backbones.json"


def core_speed() -> str:
    """How fast a core of this installation is against the cost tables' reference, a number."""
    return f"{SHARED}/core_speed.json"


def dataset(owner: str, dataset: str) -> str:
    """Folder of a data set: segments/ and versions/."""
    return f"{owner}/datasets/{dataset}"


def segments(owner: str, dataset: str) -> str:
    """Folder of a data set's segments."""
    return f"{owner}/datasets/{dataset}/segments"


def segment(owner: str, dataset: str, name: str) -> str:
    """A segment of a data set."""
    return f"{owner}/datasets/{dataset}/segments/{name}.bin"


def versions(owner: str, dataset: str) -> str:
    """Folder of a data set's versions."""
    return f"{owner}/datasets/{dataset}/versions"


def version(owner: str, dataset: str, version: str) -> str:
    """Folder of a data set version: manifest/, refused/, summary.json."""
    return f"{owner}/datasets/{dataset}/versions/{version}"


def features_of(owner: str) -> str:
    """Folder of all cached features of an owner."""
    return f"{owner}/features"


def features(owner: str, feature_key: str) -> str:
    """Folder of cached features; every folder `part-…` below it is complete Parquet."""
    return f"{owner}/features/{feature_key}"


def build(owner: str, build_id: str) -> str:
    """Folder of what one run makes."""
    return f"{owner}/builds/{build_id}"


def intake(owner: str, build_id: str) -> str:
    """Folder of what ingest found: files/, labels/, refused/ (Parquet)."""
    return f"{build(owner, build_id)}/intake"


def plan(owner: str, build_id: str) -> str:
    """The plan of a build as JSON."""
    return f"{build(owner, build_id)}/plan.json"


def result(owner: str, build_id: str, step: str, index: int = -1) -> str:
    """The result file of a step, or of one mapped instance of it."""
    leaf = step if index < 0 else f"{step}-{index}"
    return f"{build(owner, build_id)}/results/{leaf}.json"


def trial(owner: str, build_id: str, branch: str) -> str:
    """Folder of what a trial leaves: bundle/, leaderboard, curves, checkpoints."""
    return f"{build(owner, build_id)}/trials/{branch}"


def evaluation(owner: str, build_id: str) -> str:
    """Folder of an evaluation: predictions/ (Parquet), report.html, report.json."""
    return f"{build(owner, build_id)}/evaluation"


def bundles(owner: str) -> str:
    """Folder of all bundles of an owner."""
    return f"{owner}/bundles"


def bundle(owner: str, bundle_hash: str) -> str:
    """Folder of a bundle."""
    return f"{owner}/bundles/{bundle_hash}"
