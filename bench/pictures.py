"""Real picture sets and their features for the measurements of accuracy; features are kept."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from orchard.preprocess import apply, standard
from orchard.tasks import task
from trainers.backbones import get_backbone
from trainers.backbones.feature_graph import feature_graph

logger = logging.getLogger(__name__)

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "image_classification"
BATCH = 8


@dataclass(frozen=True)
class PictureSet:
    """A folder a class.

    Attributes:
        files: N paths, sorted; truth: (N,) class indices; labels: K names.
    """

    name: str
    files: list[Path]
    truth: NDArray[np.int64]
    labels: list[str]


def picture_set(name: str) -> PictureSet:
    """The pictures of a set below `../shared/data/image_classification`."""
    files = sorted(path for path in (DATA / name).rglob("*") if path.is_file())
    labels = sorted({path.parent.name for path in files})
    truth = np.array([labels.index(path.parent.name) for path in files], np.int64)
    return PictureSet(name, files, truth, labels)


def features(
    pictures: PictureSet, backbone: str, size: int, fit: str, cache: Path
) -> NDArray[np.float16]:
    """(2, N, D): features of the plain and of the mirrored pictures, computed once."""
    short = backbone.removeprefix("efficientnet-")
    path = cache / f"{pictures.name}-{short}-{size}-{fit}.npz"
    if not path.is_file():
        cache.mkdir(parents=True, exist_ok=True)
        logger.info("%s: features of %s at %d", pictures.name, backbone, size)
        plain, mirror = _compute(pictures, backbone, size, fit)
        np.savez(path, plain=plain, mirror=mirror)
    with np.load(path) as archive:
        return np.stack([archive["plain"], archive["mirror"]])


def inputs(pictures: PictureSet, row: int, size: int, fit: str) -> NDArray[np.float32]:
    """(3, H, W): a picture as the network takes it."""
    decode = task("image_classification").decode
    return apply(standard(size, fit), decode(pictures.files[row].read_bytes()))


def _compute(
    pictures: PictureSet, backbone: str, size: int, fit: str
) -> tuple[NDArray[np.float16], NDArray[np.float16]]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    graph = feature_graph(get_backbone(backbone))
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    views: tuple[list[NDArray[np.float16]], list[NDArray[np.float16]]] = ([], [])
    for start in range(0, len(pictures.files), BATCH):
        rows = range(start, min(start + BATCH, len(pictures.files)))
        batch = np.stack([inputs(pictures, row, size, fit) for row in rows])
        for view, values in zip(views, (batch, batch[..., ::-1]), strict=True):
            found = session.run(None, {"input": np.ascontiguousarray(values)})[0]
            view.append(found.astype(np.float16))
    return np.concatenate(views[0]), np.concatenate(views[1])
