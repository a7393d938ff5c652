"""Names of entries: which are safe, which are junk, which are archives inside an archive."""

from __future__ import annotations

import re
import unicodedata

MAXIMUM_NAME_BYTES = 1024
ARCHIVE_ENDINGS = tuple(
    [".zip", ".7z", ".rar", ".tar", ".tgz", ".tbz2", ".txz", ".gz", ".bz2", ".xz", ".zst", ".cab"]
)

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters, and lone surrogates, which stand for bytes that are no valid Unicode."""
_DRIVE = re.compile(r"[A-Za-z]:")
_JUNK_FOLDERS = frozenset({"__macosx", "$recycle.bin", "system volume information", "@eadir"})
_JUNK_FILES = frozenset({"thumbs.db", "ehthumbs.db", "desktop.ini", "icon\\r"})


class DangerousName(ValueError):
    """A name that points out of the place it is unpacked to."""


class UnusableName(ValueError):
    """A name that is harmless but cannot be kept as a path."""


def safe_path(name: str) -> str:
    r"""The relative path that a name means, in Unicode form NFC, parts joined by `/`.

    Backslashes are taken as separators, as archives made on Windows have them; `.` and empty
    parts are dropped. The result has at least one part, no part `..`, no drive and no slash in
    front.

    Raises:
        DangerousName: the name is absolute, has a drive letter or a part `..`.
        UnusableName: the name is empty, too long, or has control characters or lone surrogates.
    """
    path = unicodedata.normalize("NFC", name.replace("\\", "/"))
    if path.startswith("/") or _DRIVE.match(path):
        raise DangerousName("an absolute path")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if any(part.strip() == ".." for part in parts):
        raise DangerousName("a path that leads upwards")
    if not parts:
        raise UnusableName("The name is empty")
    path = "/".join(parts)
    if _CONTROLS.search(path):
        raise UnusableName("The name holds control characters or is not valid Unicode")
    if _DRIVE.match(path):
        raise DangerousName("an absolute path")
    if len(path.encode()) > MAXIMUM_NAME_BYTES:
        raise UnusableName(f"The name is longer than {MAXIMUM_NAME_BYTES} bytes")
    return path


def printable(name: str) -> str:
    """A name as it can be shown and stored: what is no valid Unicode or is a control is escaped."""
    cleaned = _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), name)
    return unicodedata.normalize("NFC", cleaned[:MAXIMUM_NAME_BYTES])


def decoded(raw: bytes, fallback: str) -> tuple[str, str]:
    """A name whose encoding is not stated, and the encoding it was read as.

    UTF-8 where it is that; GBK where every character is one of its common two-byte ones (GB 2312,
    which hardly any Western name is by chance); else the fallback, which must take any byte.
    """
    for encoding, title in (("utf-8", "UTF-8"), ("gb2312", "GBK")):
        try:
            return raw.decode(encoding), title
        except UnicodeDecodeError:
            continue
    return raw.decode(fallback), fallback


def is_junk(path: str) -> bool:
    """Whether an entry is what systems leave behind and nobody means to upload."""
    parts = path.lower().split("/")
    return (
        any(part.startswith(".") for part in parts)
        or any(part in _JUNK_FOLDERS for part in parts[:-1])
        or parts[-1] in _JUNK_FILES
    )


def is_archive(path: str) -> bool:
    """Whether a name is that of an archive."""
    return path.lower().endswith(ARCHIVE_ENDINGS)


def ending(path: str) -> str:
    """The extension in lower case with its dot, or "" where there is none."""
    leaf = path.rsplit("/", 1)[-1]
    stem, dot, extension = leaf.rpartition(".")
    return f".{extension.lower()}" if dot and stem else ""


def stem(path: str) -> str:
    """The path without its extension."""
    extension = ending(path)
    return path[: -len(extension)] if extension else path
