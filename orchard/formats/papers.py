"""Files that belong to a data set and are no samples."""

from __future__ import annotations

from orchard.sources.names import ending

_PAPERS = frozenset({"readme", "license", "licence", "copying", "notice", "changelog", "source"})
_PAPER_ENDINGS = frozenset({"", ".md", ".txt", ".rst", ".html", ".pdf"})
_TABLE_ENDINGS = frozenset({".csv", ".tsv", ".jsonl", ".ndjson"})
_NAMES_OF_CLASSES = frozenset(
    {
        *("classes.txt", "names.txt", "labels.txt", "label.txt", "class_names.txt"),
        *("predefined_classes.txt", "obj.names", "_darknet.labels"),
    }
)


def is_paper(path: str) -> bool:
    """Whether a file is a README, a licence or the like, by its name."""
    extension = ending(path)
    leaf = path.rsplit("/", 1)[-1].lower().removesuffix(extension)
    return extension in _PAPER_ENDINGS and leaf.split(".")[-1] in _PAPERS


def is_table(path: str) -> bool:
    """Whether a file is a table, by its name."""
    return ending(path) in _TABLE_ENDINGS


def names_classes(path: str) -> bool:
    """Whether a file has the name of one that lists class names, a line each."""
    return ending(path) == ".names" or path.rsplit("/", 1)[-1].lower() in _NAMES_OF_CLASSES
