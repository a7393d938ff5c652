"""Words and keys that are shared by the form, the runs and the steps. Imports nothing."""

from __future__ import annotations

import hashlib
from pathlib import Path

BUILD_DAG = "build_model"
"""Name of the DAG that builds models."""

NEW_DATA = "new-data"
"""Name of the event in Airflow: data were brought to a project; the DAG `retrain` listens."""

NEWEST = "newest"
"""What the form says for the newest version with all that was brought since."""

SERVICE_PREFIX = "/rpc/2.0/ai_custom/v1"
"""What the addresses of the prediction service begin with, as EasyDL's do."""

BUNDLE_HEADER = "X-Orchard-Bundle"
"""Header by which a request asks one bundle of an endpoint."""

OBJECTIVES = {"accuracy": "all together", "worst_class_recall": "the worst class"}
"""What a person may have optimised; each task says which of its figures that means."""
APPROVALS = {
    "person": "a person",
    "floor": "automatic above a floor",
    "champion": "automatic when better than the champion",
}


def build_id_of(dag_id: str, run_id: str) -> str:
    """16 hexadecimal digits that stand for a run: run ids hold characters that HDFS refuses."""
    return hashlib.sha256(f"{dag_id}\n{run_id}".encode()).hexdigest()[:16]


def code_of(folder: Path) -> str:
    """sha256 over the modules of a package, to know what other code has made."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()
