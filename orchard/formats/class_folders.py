"""A folder a class, nested in any depth, with or without train, val and test folders.

This is torchvision's ImageFolder layout made lenient, and EasyDL's "folders named by class".
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from orchard.formats.base import Evidence, Format, Label, Reading, Role
from orchard.formats.papers import is_paper, is_table
from orchard.formats.splits import split_of
from orchard.sources.base import Refusal
from orchard.sources.listing import Listing


@dataclass(frozen=True)
class Layout:
    """Where in a path the class and the split stand.

    Attributes:
        skipped: number of folders at the front that say nothing.
        split_level: position of the split's folder, counted after `skipped`; None without one.
        innermost: the class is the folder that a picture lies in, else the outermost one.
    """

    skipped: int
    split_level: int | None
    innermost: bool

    def split(self, folders: list[str]) -> str | None:
        """The split that a file's folders hint at."""
        at = self.split_level
        rest = folders[self.skipped :]
        return split_of(rest[at]) if at is not None and at < len(rest) else None

    def label(self, folders: list[str]) -> str | None:
        """The class of a file by its folders; None where it lies in no class folder."""
        rest = folders[self.skipped :]
        if self.split_level is not None and self.split(folders) is not None:
            del rest[self.split_level]
        if not rest:
            return None
        return rest[-1 if self.innermost else 0]


class ClassFolders(Format):
    """A folder a class."""

    name = "class_folders"
    title = "a folder a class (class/picture.jpg; train, val and test folders may stand above)"
    kinds = frozenset({"class"})

    def recognise(self, listing: Listing) -> Evidence | None:
        # Cameras and crawlers leave pictures without an extension; then all such files count.
        folders = listing.folders or listing.bare
        word = listing.sample_word
        layout, notices = _layout(folders, word)
        counts: Counter[str] = Counter()
        for folder, samples in folders.items():
            label = layout.label(_parts(folder))
            if label is not None:
                counts[label] += samples
        if not counts:
            return None
        total = folders.total()
        loose = total - counts.total()
        if loose:
            notices.append(f"{loose:,} {word}s lie in no class folder and have no label")
        confidence = 0.6 * counts.total() / total
        reason = f"{counts.total():,} {word}s in {len(counts):,} class folders"
        return Evidence(confidence, reason, tuple(notices), layout)

    def read(self, listing: Listing, evidence: Evidence) -> Reading:
        return _FolderReading(listing, evidence, layout=evidence.facts)


@dataclass
class _FolderReading(Reading):
    layout: Layout = Layout(0, None, False)

    def role(self, path: str) -> Role:
        return Role.OTHER if is_paper(path) or is_table(path) else Role.SAMPLE

    def split(self, path: str) -> str | None:
        return self.layout.split(path.split("/")[:-1])

    def sample(self, path: str) -> Iterable[Label | Refusal]:
        label = self.layout.label(path.split("/")[:-1])
        if label is None:
            return ()
        return (Label(path, label, None, "folder name"),)


def _parts(folder: str) -> list[str]:
    return folder.split("/") if folder else []


def _layout(folders: Counter[str], word: str) -> tuple[Layout, list[str]]:
    """How to read folders with samples in them (folder → number of samples), and what to say."""
    paths = [_parts(folder) for folder in folders]
    notices: list[str] = []
    if not paths:
        return Layout(0, None, False), notices
    # What all pictures lie below says nothing, but the last folder of all may be the only class.
    skipped = min(len(os.path.commonprefix(paths)), max(min(map(len, paths)) - 1, 0))
    rests = [path[skipped:] for path in paths]
    level = _split_level(rests)
    for name in paths[0][:skipped]:
        if split_of(name) is not None:
            notices.append(f"All {word}s lie below {name!r}, so it is not taken for a split")
    classes = [rest if level is None else rest[:level] + rest[level + 1 :] for rest in rests]
    innermost = _innermost(classes)
    if any(len(each) > 1 for each in classes):
        which = f"that a {word} lies in" if innermost else "that stands outermost"
        notices.append(f"Folders are nested; the one {which} was taken for the class")
    return Layout(skipped, level, innermost), notices


def _split_level(rests: list[list[str]]) -> int | None:
    """The level at which every folder names a split, two different ones at least."""
    deep = [rest for rest in rests if rest]
    if not deep:
        return None
    for level in range(min(map(len, deep))):
        names = {split_of(rest[level]) for rest in deep}
        if None not in names and len(names) > 1:
            return level
    return None


def _innermost(classes: list[list[str]]) -> bool:
    """Whether the folder a picture lies in is the class, rather than the outermost one.

    It is not where the same inner name stands below several outer ones (ok/monday, bad/monday), or
    where pictures lie in a folder and below it (ok/1.jpg, ok/more/2.jpg).
    """
    nested = [each for each in classes if len(each) > 1]
    if not nested or any(len(each) == 1 for each in classes):
        return False
    outer_of: dict[str, set[str]] = {}
    for each in nested:
        outer_of.setdefault(each[-1], set()).add(each[0])
    return all(len(outers) == 1 for outers in outer_of.values())
