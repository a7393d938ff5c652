"""The lock of each image, cut out of the whole lock: `python -m images.role_locks`.

`requirements/<role>.txt` names what a role needs directly; `requirements.lock` says of every
package which others asked for it. A role's lock holds what can be reached from its names, with the
versions and hashes of the whole lock. An extra that any package asked for counts for all.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
FOLDER = REPOSITORY / "requirements"
_START = re.compile(r"^([A-Za-z0-9._-]+)==", re.MULTILINE)


@dataclass(frozen=True)
class Locked:
    """One package of the whole lock: its lines, and the names of those that asked for it."""

    text: str
    parents: frozenset[str]


def normal(name: str) -> str:
    """A package's name as indexes compare it (PEP 503), without extras."""
    return re.sub(r"[-_.]+", "-", name.split("[")[0].strip()).lower()


def names_of(requirements: str) -> set[str]:
    """The packages that a requirement file names, versions and remarks left out."""
    lines = (line.split("#")[0].strip() for line in requirements.splitlines())
    return {normal(re.split(r"[<>=!~; ]", line)[0]) for line in lines if line}


def read_lock(text: str) -> dict[str, Locked]:
    """The packages of a lock that uv wrote with annotations, by their normal names."""
    starts = [(normal(found[1]), found.start()) for found in _START.finditer(text)]
    ends = [start for _, start in starts[1:]] + [len(text)]
    locked = {}
    for (name, start), end in zip(starts, ends, strict=True):
        block = text[start:end]
        via = block[block.index("# via") :].removeprefix("# via").splitlines()
        parents = (line.strip().removeprefix("#").strip() for line in via)
        asked = {each for each in parents if each and not each.startswith("-")}
        locked[name] = Locked(block, frozenset(map(normal, asked)))
    return locked


def cut(whole: Mapping[str, Locked], direct: Iterable[str]) -> str:
    """The lines of the whole lock that a role with these direct packages needs.

    Raises ValueError where the whole lock lacks one of them.
    """
    reached = set(direct)
    if missing := sorted(reached - whole.keys()):
        raise ValueError(f"requirements.lock lacks {', '.join(missing)}; run make lock")
    while more := {
        name
        for name, locked in whole.items()
        if name not in reached and not locked.parents.isdisjoint(reached)
    }:
        reached |= more
    return "".join(_without_remarks(whole[name].text) for name in sorted(reached))


def _without_remarks(block: str) -> str:
    lines = [line for line in block.splitlines() if not line.lstrip().startswith("#")]
    return "\n".join(lines).rstrip("\\ ") + "\n"


def role_locks() -> dict[Path, str]:
    """What the file of each role's lock should hold."""
    whole = read_lock((REPOSITORY / "requirements.lock").read_text())
    return {
        path.with_suffix(".lock"): cut(whole, names_of(path.read_text()))
        for path in sorted(FOLDER.glob("*.txt"))
    }


def main() -> int:
    """Write every role's lock."""
    for path, text in role_locks().items():
        path.write_text(text)
        print(f"{path.relative_to(REPOSITORY)}: {len(_START.findall(text))} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
