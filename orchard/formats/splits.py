"""Names of splits as people write them."""

from __future__ import annotations

_NAMES = {
    "train": "train",
    "training": "train",
    "trainset": "train",
    "train_set": "train",
    "训练集": "train",
    "val": "validation",
    "valid": "validation",
    "validation": "validation",
    "dev": "validation",
    "验证集": "validation",
    "test": "test",
    "testing": "test",
    "testset": "test",
    "test_set": "test",
    "测试集": "test",
}


def split_of(name: str) -> str | None:
    """ "train", "validation" or "test" where the name is one of a split, else None."""
    return _NAMES.get(name.strip().lower())
