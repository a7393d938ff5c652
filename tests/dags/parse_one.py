"""Parse one DAG file as Airflow's DAG processor does, and say what it costs, as JSON.

`python -m tests.dags.parse_one FILE`. `import airflow.sdk` comes before and is not counted.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from pathlib import Path

import airflow.sdk
from airflow.sdk import DAG


def main(path: Path) -> dict[str, object]:
    """Seconds of CPU beyond Airflow's own import, modules that it loads beyond, DAG ids."""
    assert DAG is airflow.sdk.DAG  # resolves Airflow's lazy import
    before = set(sys.modules)
    begun = time.process_time()
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {
        "seconds": time.process_time() - begun,
        "modules": sorted({name.split(".")[0] for name in set(sys.modules) - before}),
        "dags": sorted(each.dag_id for each in vars(module).values() if isinstance(each, DAG)),
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
