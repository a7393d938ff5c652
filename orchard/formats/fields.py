"""Names of columns and keys as people write them, and what a class name may be."""

from __future__ import annotations

import math
import re
from typing import Any

PATH_NAMES = (
    "path", "file", "filename", "file_name", "filepath", "file_path", "image", "image_path",
    "image_name", "imagename", "image_file", "imgpath", "img", "img_path", "img_name",
    "picture", "photo", "audio", "audio_path", "wav", "sample", "image_id", "imageid", "id", "name",
    "uri", "url", "图片", "图片名", "图片路径", "图像", "文件", "文件名", "路径",
)  # fmt: skip
LABEL_NAMES = (
    "label", "labels", "class", "classes", "class_name", "classname", "class_label", "label_name", "labelname",
    "category", "category_name", "target", "tag", "tags", "annotation", "y", "标签", "类别",
    "分类", "标注",
)  # fmt: skip
SPLIT_NAMES = (
    "split", "subset", "set", "partition", "usage", "dataset", "data_set", "fold", "划分",
    "数据集",
)  # fmt: skip

_PATH = {name: rank for rank, name in enumerate(PATH_NAMES)}
_LABEL = {name: rank for rank, name in enumerate(LABEL_NAMES)}
_SPLIT = {name: rank for rank, name in enumerate(SPLIT_NAMES)}


class UnusableLabel(ValueError):
    """A label that the task cannot take; `code` is short, the text a sentence."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


def normalised(name: str) -> str:
    """A column's name in lower case with `_` between its words."""
    return re.sub(r"[\s\-.]+", "_", name.strip().strip("\ufeff").lower()).strip("_")


def pick(names: list[str], kind: str) -> int | None:
    """Position of the column that is "path", "label" or "split" by its name; None without one."""
    ranks = {"path": _PATH, "label": _LABEL, "split": _SPLIT}[kind]
    found = [(ranks[name], at) for at, name in enumerate(map(normalised, names)) if name in ranks]
    return min(found)[1] if found else None


def class_name(value: Any) -> str:
    """The one class name that a JSON value or a cell stands for, without space around it.

    Takes a text, a whole number, a truth value, {"name": …} or a list of these with one distinct
    name. Raises UnusableLabel: nothing there, several labels, or something else.
    """
    names = _names(value)
    distinct = sorted(set(names))
    if not distinct:
        raise UnusableLabel("no_label", "It has no label")
    if len(distinct) > 1:
        shown = ", ".join(distinct[:5])
        raise UnusableLabel(
            "several_labels", f"It has several labels ({shown}); the task takes one"
        )
    return distinct[0]


def _names(value: Any) -> list[str]:
    if isinstance(value, list):
        return [name for each in value for name in _names(each)]
    if isinstance(value, dict):
        for key in ("name", "label", "class", "category"):
            if key in value:
                return _names(value[key])
        raise UnusableLabel(
            "unknown_label", f"Its label has none of the expected keys: {value}"[:200]
        )
    if value is None:
        return []
    if isinstance(value, float):
        if not math.isfinite(value):
            return []
        value = int(value) if value.is_integer() else value
    text = str(value).strip()
    if "\n" in text or len(text) > 200:
        raise UnusableLabel("unknown_label", "Its label is longer than 200 characters or a line")
    return [text] if text else []
