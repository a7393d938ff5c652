"""The model for `mlflow models serve`: a Python function that takes pictures in base64.

`python -m bench.peers.mlflow_model FOLDER` saves it. MLflow's own ONNX flavour takes numbers; 150,528
of them as JSON cost far more than the model, so a custom Python model with a signature, which its
documentation has for such cases, is the fair way.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
from mlflow.models import ModelSignature
from mlflow.types import ColSpec, DataType, Schema

from bench.peers.classifier import from_environment, prepared_base64


class ClassifierModel(mlflow.pyfunc.PythonModel):  # type: ignore[misc]
    """A column `image` of base64 → a list of K scores a row."""

    def load_context(self, context: Any) -> None:
        self.classifier = from_environment()

    def predict(self, context: Any, model_input: pd.DataFrame, params: Any = None) -> Any:
        inputs = [prepared_base64(text) for text in model_input["image"]]
        return self.classifier(inputs).tolist()


def main() -> None:
    """Save the model."""
    mlflow.pyfunc.save_model(
        path=Path(sys.argv[1]),
        python_model=ClassifierModel(),
        signature=ModelSignature(inputs=Schema([ColSpec(DataType.string, "image")])),
        pip_requirements=[],
    )


if __name__ == "__main__":
    main()
