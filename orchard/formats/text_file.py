"""Text files of unknown encoding and separator."""

from __future__ import annotations

import codecs
import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

_CHUNK = 1024 * 1024
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SEPARATORS = ("\t", ",", ";", "|")
_SNIFFED_LINES = 50


def encoding_of(path: Path) -> str:
    """Name of the codec that reads the whole file.

    A byte order mark decides; else UTF-16 where every other byte is zero; else UTF-8 where all of
    it is valid; else GB 18030 where bytes above 127 mostly stand in pairs, as in Chinese; else
    Windows-1252 and Latin-1.
    """
    with path.open("rb") as file:
        start = file.read(4096)
    for mark, encoding in _BYTE_ORDER_MARKS:
        if start.startswith(mark):
            return encoding
    if len(start) >= 4:
        if start[1::2].count(0) > 0.4 * len(start) / 2 and not start[::2].count(0):
            return "utf-16-le"
        if start[::2].count(0) > 0.4 * len(start) / 2 and not start[1::2].count(0):
            return "utf-16-be"
    if _decodes(path, "utf-8"):
        return "utf-8"
    if _in_pairs(path) and _decodes(path, "gb18030"):
        return "gb18030"
    return "cp1252" if _decodes(path, "cp1252") else "latin-1"


def _decodes(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _in_pairs(path: Path) -> bool:
    with path.open("rb") as file:
        content = file.read(_CHUNK)
    high = sum(byte > 127 for byte in content)
    paired = sum(
        first > 127 and second > 127 for first, second in zip(content, content[1:], strict=False)
    )
    # A run of n high bytes has n - 1 neighbours; a pair of its own counts 1 of 2.
    return high > 0 and paired >= 0.4 * high


def separator_of(path: Path, encoding: str) -> str:
    """The separator that most lines have equally often; a space where none of the usual is there.

    Space means: the last word of a line is the label, what stands before it the path.
    """
    with path.open(encoding=encoding, newline="", errors="replace") as file:
        lines = [line for _, line in zip(range(_SNIFFED_LINES), _lines(file), strict=False)]
    best, best_share = " ", 0.5
    for separator in _SEPARATORS:
        counts = Counter(line.count(separator) for line in lines)
        count, number = counts.most_common(1)[0] if counts else (0, 0)
        share = number / max(len(lines), 1)
        if count > 0 and share > best_share:
            best, best_share = separator, share
    return best


def _lines(file: Iterator[str]) -> Iterator[str]:
    for line in file:
        # Separators inside of quotes are none.
        outside = "".join(line.strip()[:10_000].split('"')[::2])
        if outside or line.strip():
            yield outside


def rows(path: Path, encoding: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Line number (of the row's last line, from 1) and cells of every row that is not empty.

    Raises csv.Error where a cell is longer than 131,072 characters.
    """
    with path.open(encoding=encoding, newline="", errors="replace") as file:
        if separator == " ":
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line.strip().rsplit(None, 1)
            return
        reader = csv.reader(file, delimiter=separator, skipinitialspace=True)
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells
