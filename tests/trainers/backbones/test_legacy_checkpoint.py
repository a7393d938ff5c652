from __future__ import annotations

import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

from orchard.errors import BadInput
from trainers.backbones.efficientnet_lite import checkpoint_path
from trainers.backbones.legacy_checkpoint import (
    MAGIC_NUMBER,
    PROTOCOL_VERSION,
    read_legacy_checkpoint,
)


class Global:
    """Pickled as a reference to a name that is not importable here."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name


class TorchLikePickler(pickle._Pickler):  # the Python pickler: its `save` can be extended
    """Writes tensors the way PyTorch does, without PyTorch."""

    def save(self, obj: object, save_persistent_id: bool = True) -> None:
        if isinstance(obj, Global):
            self.write(b"c" + f"{obj.module}\n{obj.name}\n".encode())
        else:
            super().save(obj, save_persistent_id)

    def persistent_id(self, obj: object) -> object:
        return obj.pid if isinstance(obj, Storage) else None


class Storage:
    def __init__(self, key: str, elements: int, kind: str = "FloatStorage") -> None:
        self.pid = ("storage", Global("torch", kind), key, "cpu", elements, None)


class Tensor:
    def __init__(self, *arguments: object) -> None:
        self.arguments = arguments


def save_tensor(pickler: TorchLikePickler, tensor: Tensor) -> None:
    pickler.save(Global("torch._utils", "_rebuild_tensor_v2"))
    pickler.save((*tensor.arguments, False, {}))
    pickler.write(pickle.REDUCE)


TorchLikePickler.dispatch = {**pickle._Pickler.dispatch, Tensor: save_tensor}


def write(path: Path, state: object, storages: dict[str, np.ndarray]) -> Path:
    with path.open("wb") as file:
        for value in (MAGIC_NUMBER, PROTOCOL_VERSION, {"little_endian": True}):
            pickle.dump(value, file, protocol=2)
        TorchLikePickler(file, protocol=2).dump(state)
        pickle.dump(list(storages), file, protocol=2)
        for values in storages.values():
            file.write(struct.pack("<q", len(values)) + values.tobytes())
    return path


def test_strides_are_honoured(tmp_path: Path) -> None:
    values = np.arange(24, dtype="<f4")
    state = {
        "rows": Tensor(Storage("0", 24), 0, (2, 3), (3, 1)),
        "channels_last": Tensor(Storage("0", 24), 0, (4, 2, 3), (1, 12, 4)),
        "shifted": Tensor(Storage("0", 24), 5, (2,), (10,)),
        "scalar": Tensor(Storage("0", 24), 7, (), ()),
    }
    read = read_legacy_checkpoint(write(tmp_path / "w.pth", state, {"0": values}))
    np.testing.assert_array_equal(read["rows"], values[:6].reshape(2, 3))
    expected = values.reshape(2, 3, 4).transpose(2, 0, 1)
    np.testing.assert_array_equal(read["channels_last"], expected)
    np.testing.assert_array_equal(read["shifted"], [5, 15])
    assert read["scalar"] == 7
    assert all(array.flags.c_contiguous for array in read.values())


@pytest.mark.parametrize(
    "tensor",
    [
        pytest.param(((0, (5, 5), (5, 1))), id="more values than the storage"),
        pytest.param(((-1, (2,), (1,))), id="negative offset"),
        pytest.param(((10, (2,), (-1,))), id="negative stride"),
    ],
)
def test_a_tensor_outside_its_storage_is_refused(
    tmp_path: Path, tensor: tuple[int, tuple[int, ...], tuple[int, ...]]
) -> None:
    state = {"weight": Tensor(Storage("0", 24), *tensor)}
    path = write(tmp_path / "w.pth", state, {"0": np.zeros(24, "<f4")})
    with pytest.raises(BadInput, match="weight"):
        read_legacy_checkpoint(path)


@pytest.mark.parametrize("name", [("os", "system"), ("builtins", "eval"), ("torch", "load")])
def test_any_other_global_is_refused(tmp_path: Path, name: tuple[str, str]) -> None:
    path = write(tmp_path / "w.pth", {"weight": Global(*name)}, {})
    with pytest.raises(BadInput, match=rf"{name[0]}\.{name[1]}"):
        read_legacy_checkpoint(path)


@pytest.mark.parametrize("data", [b"", b"not a pickle", pickle.dumps(1), pickle.dumps([]) * 5])
def test_another_file_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "w.pth"
    path.write_bytes(data)
    with pytest.raises(BadInput, match="w.pth"):
        read_legacy_checkpoint(path)


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    data = checkpoint_path(0).read_bytes()
    path = tmp_path / "cut.pth"
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(BadInput, match="ends inside storage"):
        read_legacy_checkpoint(path)
