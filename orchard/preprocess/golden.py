"""Golden vectors: proof that another program prepares pictures as `orchard.preprocess` does."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.decode import decode_picture
from orchard.errors import BadInput
from orchard.preprocess.operations import PREPROCESSING_VERSION, Operation
from orchard.preprocess.transform import apply

# JPEG decoders differ by a few grey levels in single pixels; a wrong kernel, crop, rotation or
# channel order differs by far more in many.
_TOLERANCE_LEVELS = 4
_PROBES = 64


def golden_vector(operations: Sequence[Operation], payload: bytes) -> dict[str, Any]:
    """What decoding and preparing a picture must give, as JSON.

    The keys: `version`, `operations`, `payload_sha256`; `shape` [3, H, W]; `tensor_sha256` over
    the tensor as little-endian float32 in C order; `probes`, flat indices spread evenly over the
    tensor, with their `values`; `tolerance`, the largest difference of a probe that a program
    with another JPEG decoder may have.

    Raises:
        PictureRefused: the payload is not a picture.
        BadInput: the operations are not valid.
    """
    tensor = apply(operations, decode_picture(payload))
    probes = np.unique(np.linspace(0, tensor.size - 1, _PROBES).round().astype(np.int64))
    largest_scale = float(np.abs(np.asarray(operations[-1]["scale"])).max())
    return {
        "version": PREPROCESSING_VERSION,
        "operations": [dict(operation) for operation in operations],
        "payload_sha256": hashlib.sha256(payload).hexdigest(),
        "shape": list(tensor.shape),
        "tensor_sha256": _tensor_hash(tensor),
        "probes": probes.tolist(),
        "values": tensor.ravel()[probes].tolist(),
        "tolerance": _TOLERANCE_LEVELS * largest_scale,
    }


def golden_difference(vector: Mapping[str, Any], tensor: NDArray[np.float32]) -> float:
    """Largest absolute difference at the probes; 0.0 where the hash is the same.

    Raises:
        BadInput: the tensor has another shape than the vector.
    """
    if list(tensor.shape) != list(vector["shape"]):
        raise BadInput(
            f"The prepared picture must have the shape {vector['shape']}",
            value=list(tensor.shape),
            way_out="Prepare it with the operations that stand in the vector",
        )
    if _tensor_hash(tensor) == vector["tensor_sha256"]:
        return 0.0
    found = tensor.ravel()[np.asarray(vector["probes"])].astype(np.float64)
    return float(np.abs(found - np.asarray(vector["values"])).max())


def _tensor_hash(tensor: NDArray[np.float32]) -> str:
    return hashlib.sha256(np.ascontiguousarray(tensor, "<f4").data).hexdigest()
