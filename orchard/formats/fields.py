"""Names of columns and keys as people write them, and what a class name may be."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Any

from orchard.formats.splits import split_of

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
ORIGIN_NAMES = (
    "speaker", "speaker_id", "speaker_name", "voice", "voice_id", "singer", "patient", "patient_id",
    "subject", "subject_id", "participant", "participant_id", "person", "person_id", "user_id",
    "client_id", "machine", "machine_id", "device", "device_id", "microphone", "microphone_id",
    "sensor", "sensor_id", "camera", "camera_id", "recording", "recording_id", "video", "video_id",
    "session", "session_id", "group", "group_id", "groups", "origin", "origin_id", "source",
    "source_id", "说话人", "说话者", "发音人", "患者", "病人", "受试者", "机器", "设备", "相机", "录音",
    "视频", "会话", "来源", "组别",
)  # fmt: skip
"""What says which source a sample comes of; where several stand there, the first of these counts."""

_PATH = {name: rank for rank, name in enumerate(PATH_NAMES)}
_LABEL = {name: rank for rank, name in enumerate(LABEL_NAMES)}
_SPLIT = {name: rank for rank, name in enumerate(SPLIT_NAMES)}
_ORIGIN = {name: rank for rank, name in enumerate(ORIGIN_NAMES)}
_NO_ORIGIN = frozenset(
    {"", "nan", "none", "null", "na", "n/a", "-", "?", "unknown", "undefined", "未知", "无"}
)


class UnusableLabel(ValueError):
    """A label that the task cannot take; `code` is short, the text a sentence."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


def normalised(name: str) -> str:
    """A column's name in lower case with `_` between its words."""
    return re.sub(r"[\s\-.]+", "_", name.strip().strip("\ufeff").lower()).strip("_")


def pick(names: list[str], kind: str) -> int | None:
    """Position of the column that is "path", "label", "split" or "origin" by its name, or None."""
    ranks = {"path": _PATH, "label": _LABEL, "split": _SPLIT, "origin": _ORIGIN}[kind]
    found = [(ranks[name], at) for at, name in enumerate(map(normalised, names)) if name in ranks]
    return min(found)[1] if found else None


def origin_of(value: Any) -> str | None:
    """The source that a JSON value or a cell stands for: a line of text or a number, in NFC with
    single spaces. None for what says nothing, such as "unknown", and for the name of a split."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, str | int) or isinstance(value, bool):
        return None
    whole = str(value).encode("utf-8", "replace").decode()  # JSON may hold half a surrogate pair
    text = " ".join(unicodedata.normalize("NFC", whole).split())
    if text.lower() in _NO_ORIGIN or split_of(text) is not None or len(text) > 200:
        return None
    return text


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
