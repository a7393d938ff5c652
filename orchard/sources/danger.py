"""What makes an archive dangerous as a whole, and what only costs it an entry."""

from __future__ import annotations

from orchard.errors import BadInput
from orchard.sources.base import Limits, Refusal
from orchard.sources.compact import NameTable
from orchard.sources.names import DangerousName, printable, safe_path

_SMALL = 4 * 1024 * 1024
"""Below this many bytes no ratio is dangerous: blank pictures and tables pack well."""


class Danger(Exception):
    """An entry that is refused by name."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal


def claim(name: str, names: NameTable) -> str:
    """The safe path of an archive's entry, noted in `names`.

    Two names in one folder that differ only in case are one name on many file systems, so the
    second is refused. Folders that differ in case are kept apart: as class names they are joined
    later, and nothing is lost.

    Raises:
        BadInput: the name leads out of the archive; the whole archive is refused.
        UnusableName: the name cannot be kept.
        Danger: the name was there before.
    """
    try:
        path = safe_path(name)
    except DangerousName as error:
        raise BadInput(
            f"The archive holds {error}, as made to overwrite other files",
            value=printable(name),
            way_out="Pack the files anew, with relative names",
        ) from error
    folder, _, leaf = path.rpartition("/")
    if not names.add(f"{folder}/{leaf.casefold()}"):
        raise Danger(
            Refusal(
                path, "duplicate_name", "An entry before it has the same name; only it is taken"
            )
        )
    return path


def check_ratio(name: str, unpacked: int, packed: int, limits: Limits) -> None:
    """Raises BadInput where sizes are those of an archive bomb."""
    if unpacked > limits.archive_bytes:
        raise BadInput(
            "The archive is too large when unpacked",
            value=f"{printable(name)}: {unpacked:,} bytes; at most {limits.archive_bytes:,}",
            way_out="Import it in parts, or raise the setting maximum_archive_bytes",
        )
    if unpacked > _SMALL and unpacked > limits.archive_ratio * max(packed, 1):
        raise BadInput(
            "The archive grows too much when unpacked, as an archive bomb does",
            value=f"{printable(name)}: {packed:,} bytes become {unpacked:,}",
            way_out="Pack the files anew, or raise the setting maximum_archive_ratio",
        )


def refuse_count(count: int, limits: Limits) -> None:
    """Raises BadInput where there are more entries than allowed."""
    if count > limits.entries:
        raise BadInput(
            "There are too many files",
            value=f"more than {limits.entries:,}",
            way_out="Import them in parts, or raise the setting maximum_entries",
        )


def damaged(name: str, error: BaseException) -> BadInput:
    """The error for an archive that cannot be read to its end."""
    return BadInput(
        "The archive is damaged or was cut off; nothing of it was imported",
        value=f"{name}: {str(error)[:200] or type(error).__name__}",
        way_out="Upload it again, and test it with the program that made it",
    )
