"""Reads PyTorch's legacy checkpoint file (before the zip format) without PyTorch.

Layout of the file, as `torch.serialization._legacy_save` writes it: five pickles (magic number,
protocol version, system facts, the object with persistent ids in place of storages, the list of
storage keys), then each storage as an int64 element count followed by its raw values.

A pickle can run any code it names, so the reader resolves only the handful of globals that a state
dict needs and refuses the rest.
"""

from __future__ import annotations

import collections
import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from orchard.errors import BadInput

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001

Array = NDArray[np.generic]


@dataclass(frozen=True)
class _StorageType:
    """Stands for a class such as `torch.FloatStorage`: only its element type matters."""

    dtype: str


@dataclass(frozen=True)
class _Storage:
    key: str
    dtype: str
    elements: int


@dataclass(frozen=True)
class _Tensor:
    """A strided view into a storage whose values stand later in the file."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


_STORAGE_TYPES = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ByteStorage": "|u1",
}


def _rebuild_tensor(
    storage: _Storage,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    *_: object,
) -> _Tensor:
    return _Tensor(storage, int(offset), tuple(shape), tuple(strides))


class _RestrictedUnpickler(pickle.Unpickler):
    """Resolves tensors and ordered dicts; any other global in the pickle is refused."""

    def find_class(self, module: str, name: str) -> Callable[..., object] | _StorageType:
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _rebuild_tensor
        if module == "torch" and name in _STORAGE_TYPES:
            return _StorageType(_STORAGE_TYPES[name])
        raise BadInput(
            "The checkpoint names code that a table of weights does not need",
            value=f"{module}.{name}",
            way_out="Save the plain state dict (tensors only) and use that file",
        )

    def persistent_load(self, pid: object) -> _Storage:
        if not isinstance(pid, tuple) or len(pid) < 5 or pid[0] != "storage":
            raise BadInput("The checkpoint holds an unknown kind of persistent id", value=pid)
        _, storage_type, key, _, elements, *view = pid
        if not isinstance(storage_type, _StorageType) or (view and view[0] is not None):
            raise BadInput("The checkpoint holds a storage that cannot be read", value=pid)
        return _Storage(str(key), storage_type.dtype, int(elements))


def read_legacy_checkpoint(path: Path) -> dict[str, Array]:
    """The state dict in a legacy PyTorch file, name → array (C-contiguous, native strides undone).

    Tensors are stored as strided views (weights converted from TensorFlow are channels-last), so
    each is read through its strides.

    Raises:
        BadInput: the file is not a legacy checkpoint, is cut off, names a global that a state dict
            does not need, or has a tensor that reaches outside its storage.
    """
    with path.open("rb") as file:
        try:
            state = _read_objects(file)
            storages = _read_storages(file, state)
        except (pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError) as error:
            raise BadInput(
                f"The file is not a readable legacy PyTorch checkpoint ({error})",
                value=path.name,
                way_out="Give the file as its publisher ships it",
            ) from error
    return {name: _view(name, tensor, storages) for name, tensor in state.items()}


def _read_objects(file: BinaryIO) -> dict[str, _Tensor]:
    magic, protocol = (_RestrictedUnpickler(file).load() for _ in range(2))
    if magic != MAGIC_NUMBER or protocol != PROTOCOL_VERSION:
        raise ValueError("wrong magic number or protocol")
    _RestrictedUnpickler(file).load()  # facts about the writing machine; all are little-endian now
    state = _RestrictedUnpickler(file).load()
    if not isinstance(state, dict) or not all(isinstance(t, _Tensor) for t in state.values()):
        raise ValueError("the object is not a flat table of tensors")
    return dict(state)


def _read_storages(file: BinaryIO, state: dict[str, _Tensor]) -> dict[str, Array]:
    declared = {tensor.storage.key: tensor.storage for tensor in state.values()}
    storages: dict[str, Array] = {}
    length = os.fstat(file.fileno()).st_size
    for key in _RestrictedUnpickler(file).load():
        storage = declared.get(key)
        count = int.from_bytes(file.read(8), "little", signed=True)
        if storage is None or count != storage.elements or count < 0:
            raise ValueError(f"storage {key} has {count} elements, not what its tensors declare")
        size = count * np.dtype(storage.dtype).itemsize
        if size > length - file.tell():
            raise ValueError(f"the file ends inside storage {key}")
        data = file.read(size)
        storages[key] = np.frombuffer(data, dtype=storage.dtype, count=count)
    return storages


def _view(name: str, tensor: _Tensor, storages: dict[str, Array]) -> Array:
    storage = storages.get(tensor.storage.key)
    last = tensor.offset + sum(
        (size - 1) * stride for size, stride in zip(tensor.shape, tensor.strides, strict=True)
    )
    sound = tensor.offset >= 0 and all(n > 0 for n in tensor.shape)
    if storage is None or not sound or min(tensor.strides, default=0) < 0 or last >= len(storage):
        raise BadInput("A tensor of the checkpoint lies outside its storage", value=name)
    view = np.lib.stride_tricks.as_strided(
        storage[tensor.offset :],
        shape=tensor.shape,
        strides=[stride * storage.itemsize for stride in tensor.strides],
        writeable=False,
    )
    return np.array(view, order="C")
