"""A model as a folder: graph, parameters, card and golden vectors, named by its content.

    model.onnx         input "input" float32 (R, …) → one output (R, …), whose meaning is the task's
    parameters.pdparams  the same model's parameters for Paddle
    bundle.json        the card: task, labels, preprocessing, thresholds, data set version, …
    golden.npz         made-up samples with the input and the output that must come of them

Pure: the engine that runs the graph comes in as a function.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.errors import BadInput, OrchardError

FORMAT = 1
CARD = "bundle.json"
MODEL = "model.onnx"
PARAMETERS = "parameters.pdparams"
GOLDEN = "golden.npz"

_NEEDED: dict[str, type | tuple[type, ...]] = {
    "format": int,
    "task": str,
    "labels": list,
    "preprocessing": list,
    "backbone": str,
    "thresholds": dict,
    "temperature": (int, float),
    "data": dict,
    "validation": dict,
    "objective": str,
    "code_version": str,
    "winner": dict,
}
_PROBE = 64
_OUTPUT_PROBE = 1024
_CHUNK = 1024 * 1024

Preprocess = Callable[[bytes], NDArray[np.float32]]
"""Bytes of a sample → the model's input of one sample, (R, …)."""
Predict = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""Inputs (R, …) → outputs (R, …)."""


@dataclass(frozen=True)
class Bundle:
    """A bundle that was read and found complete.

    Attributes:
        folder: where it lies.
        hash: 16 hexadecimal digits of its content.
        card: the JSON of `bundle.json`.
    """

    folder: Path
    hash: str
    card: dict[str, Any]

    @property
    def task(self) -> str:
        return str(self.card["task"])

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.card["labels"])

    @property
    def preprocessing(self) -> list[dict[str, Any]]:
        return list(self.card["preprocessing"])

    @property
    def model(self) -> Path:
        """The ONNX graph."""
        return self.folder / MODEL


def bundle_hash(folder: Path) -> str:
    """First 16 hexadecimal digits of sha256 over the sorted lines "name sha256-of-content"."""
    lines = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            lines.append(f"{path.relative_to(folder).as_posix()} {_file_hash(path)}\n")
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()[:16]


def read(folder: Path, expected_hash: str | None = None) -> Bundle:
    """Read a bundle and verify that it is whole.

    Raises:
        BadInput: a file is missing, the card cannot be read, or its format is unknown.
        OrchardError: the content is not the one that `expected_hash` names.
    """
    for name in (CARD, MODEL, GOLDEN):
        if not (folder / name).is_file():
            raise BadInput("A bundle lacks a file", value=name, way_out="Build the model again")
    try:
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput("A bundle's card cannot be read", value=str(error)[:200]) from error
    check_card(card)
    found = bundle_hash(folder)
    if expected_hash is not None and found != expected_hash:
        raise OrchardError(
            "A bundle's content has changed",
            value=f"expected {expected_hash}, found {found}",
            way_out="Restore it from the store, or build the model again",
        )
    return Bundle(folder, found, card)


def write(
    folder: Path, card: Mapping[str, Any], files: Mapping[str, bytes | Path], golden: bytes
) -> Bundle:
    """Write a bundle folder; it appears whole, replacing what was there.

    Args:
        card: everything in `bundle.json` but `format`.
        files: further files by name, as bytes or as a path to copy; `model.onnx` must be one.
        golden: content of `golden.npz`, from `make_golden`.

    Raises:
        BadInput: the card lacks a field or holds what JSON cannot, or a name is no plain name.
    """
    full = {**card, "format": FORMAT}
    check_card(full)
    if MODEL not in files:
        raise BadInput("A bundle needs its graph", value=MODEL)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".bundle-") as temporary:
        staging = Path(temporary) / "content"
        staging.mkdir()
        for name, content in files.items():
            if "/" in name or "\\" in name or name in ("", ".", "..", CARD, GOLDEN):
                raise BadInput("A bundle's file needs a plain name of its own", value=name)
            if isinstance(content, Path):
                shutil.copyfile(content, staging / name)
            else:
                (staging / name).write_bytes(content)
        (staging / GOLDEN).write_bytes(golden)
        (staging / CARD).write_text(card_text(full), encoding="utf-8")
        if folder.exists():
            folder.rename(Path(temporary) / "replaced")
        staging.rename(folder)
    return read(folder)


def card_text(card: Mapping[str, Any]) -> str:
    """A card as JSON text: sorted keys, so that equal cards are equal bytes."""
    try:
        return json.dumps(card, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise BadInput("A bundle's card holds what JSON cannot", value=str(error)) from error


def check_card(card: Any) -> None:
    """Raise BadInput where a card lacks a field, a field has a wrong type, or nothing fits."""
    if not isinstance(card, dict):
        raise BadInput("A bundle's card must be a JSON object", value=type(card).__name__)
    if card.get("format") != FORMAT:
        raise BadInput(
            "This bundle has a format that is not known here",
            value=card.get("format"),
            way_out=f"Use a version of Orchard that reads it; this one reads format {FORMAT}",
        )
    for name, kind in _NEEDED.items():
        if name not in card or not isinstance(card[name], kind):
            raise BadInput("A bundle's card lacks a field, or its type is wrong", value=name)
    labels = card["labels"]
    if len(set(labels)) != len(labels) or not all(isinstance(label, str) for label in labels):
        raise BadInput("A bundle's labels must be different texts", value=labels[:10])
    thresholds = card["thresholds"]
    if set(thresholds.get("per_class", {})) != set(labels):
        raise BadInput("A bundle needs a threshold for each class", value=sorted(thresholds))


def make_golden(
    payloads: Sequence[bytes], preprocess: Preprocess, predict: Predict, tolerance: float = 1e-4
) -> bytes:
    """Golden vectors of some samples, as the bytes of an .npz file; equal input, equal bytes.

    It holds the samples' bytes, for each the sha256 of the input they must become, 64 of that
    input's numbers evenly spaced (which tell a near miss from a wrong one), and the output, or
    1024 of its numbers evenly spaced where it has more.

    Args:
        payloads: bytes of samples, at least one.
        tolerance: what a number may differ by; of numbers above 1 this share.
    """
    if not payloads:
        raise BadInput("Golden vectors need at least one sample")
    tensors = [np.ascontiguousarray(preprocess(payload), dtype=np.float32) for payload in payloads]
    outputs = [_output_probe(predict(tensor)) for tensor in tensors]
    buffer = io.BytesIO()
    np.savez(
        buffer,
        payloads=np.frombuffer(b"".join(payloads), dtype=np.uint8),
        lengths=np.asarray([len(payload) for payload in payloads], dtype=np.int64),
        input_sha256=np.asarray([_tensor_hash(tensor) for tensor in tensors]),
        input_probe=np.stack([_probe(tensor) for tensor in tensors]),
        outputs=np.concatenate(outputs),
        output_lengths=np.asarray([len(output) for output in outputs], dtype=np.int64),
        tolerance=np.asarray(tolerance, dtype=np.float32),
    )
    return buffer.getvalue()


def check_golden(folder: Path, preprocess: Preprocess, predict: Predict) -> float:
    """Run a bundle's golden samples. Returns the largest difference of an output.

    An input whose hash differs is still taken when its probed numbers agree within the tolerance
    (another build of the picture library may round a colour differently).

    Raises:
        OrchardError: input or output differ by more than the bundle's tolerance.
    """
    try:
        with np.load(folder / GOLDEN, allow_pickle=False) as archive:
            golden = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError) as error:
        raise BadInput(
            "A bundle's golden vectors cannot be read", value=str(error)[:200]
        ) from error
    tolerance = float(golden["tolerance"])
    ends = np.cumsum(golden["lengths"])
    expected = np.split(golden["outputs"], np.cumsum(golden["output_lengths"])[:-1])
    worst = 0.0
    for number, (end, length) in enumerate(zip(ends, golden["lengths"], strict=True)):
        payload = golden["payloads"][end - length : end].tobytes()
        tensor = np.ascontiguousarray(preprocess(payload), dtype=np.float32)
        if _tensor_hash(tensor) != str(golden["input_sha256"][number]):
            _refuse_above(tolerance, _probe(tensor), golden["input_probe"][number], "input", number)
        output = _output_probe(predict(tensor))
        worst = max(worst, _refuse_above(tolerance, output, expected[number], "output", number))
    return worst


def _refuse_above(
    tolerance: float,
    found: NDArray[np.float32],
    expected: NDArray[np.float32],
    what: str,
    number: int,
) -> float:
    same_shape = found.shape == expected.shape
    difference = float("inf")
    if same_shape:
        scale = np.maximum(np.abs(expected), 1)
        difference = float((np.abs(found - expected) / scale).max())
    if not difference <= tolerance:
        raise OrchardError(
            f"A bundle does not give its golden {what} here",
            value=f"sample {number}: differs by {difference:.3g}, allowed {tolerance:.3g}",
            way_out="The model's program differs from the one it was built with; build it again",
        )
    return difference


def _probe(tensor: NDArray[np.float32]) -> NDArray[np.float32]:
    flat = tensor.reshape(-1)
    return flat[np.linspace(0, flat.size - 1, _PROBE).astype(np.int64)]


def _output_probe(output: NDArray[np.float32]) -> NDArray[np.float32]:
    flat = np.asarray(output, dtype=np.float32).reshape(-1)
    if flat.size <= _OUTPUT_PROBE:
        return flat
    return flat[np.linspace(0, flat.size - 1, _OUTPUT_PROBE).astype(np.int64)]


def _tensor_hash(tensor: NDArray[np.float32]) -> str:
    return hashlib.sha256(f"{tensor.shape}".encode() + tensor.tobytes()).hexdigest()


def _file_hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
