"""Bringing data: copy it below an import root, and note it as waiting for the next version."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from orchard.api.airflow import Airflow
from orchard.catalog import changes, projects
from orchard.catalog.connection import documents
from orchard.errors import BadInput, TryAgain
from orchard.settings import settings
from orchard.tasks import task_names

Say = Callable[[str], None]


@dataclass(frozen=True)
class Imported:
    """What was brought.

    Attributes:
        location: the folder or archive, as the form's field `data` takes it.
        files: number of files (an archive counts as one).
        bytes: their size.
    """

    project: str
    location: str
    files: int
    bytes: int


def stage(source: Path, project: str, say: Say) -> Imported:
    """Copy a folder or an archive below the import root, unless it lies below one already.

    The copy is named by what was copied (paths, sizes, times), so the same source again is found.

    Raises:
        BadInput: the source does not exist, is empty, cannot be read, or is neither a file nor a
            folder.
    """
    projects.valid_name(project)
    source = source.expanduser()
    if not source.exists():
        raise BadInput("There is no such folder or file", value=str(source))
    resolved = source.resolve()
    if not (resolved.is_file() or resolved.is_dir()):
        raise BadInput("This is neither a folder nor a file", value=str(source))
    listing = list(_files(resolved))
    if not listing:
        raise BadInput("This folder is empty", value=str(source))
    total = sum(size for _, size, _ in listing)
    if any(resolved.is_relative_to(root.resolve()) for root in settings().allowed_roots):
        return Imported(project, str(resolved), len(listing), total)
    digest = hashlib.sha256()
    for name, size, changed in listing:
        digest.update(f"{name}\0{size}\0{changed}\n".encode())
    folder = settings().allowed_roots[0] / project / digest.hexdigest()[:16]
    goal = folder / resolved.name
    if goal.exists():
        folder.touch()  # of use again: what is old is tidied away
    else:
        say(f"Copying {len(listing):,} files, {total / 1e6:,.1f} MB")
        _copy(resolved, folder, say)
    return Imported(project, str(goal), len(listing), total)


def _copy(source: Path, folder: Path, say: Say) -> None:
    """Copy a file or folder into a new folder that appears whole."""

    def copy(path: str, goal: str) -> None:
        if Path(path).is_file() or Path(path).is_symlink():
            shutil.copy2(path, goal, follow_symlinks=False)
        else:
            say(f"Left out, no file: {path}")

    temporary = folder.with_name(f".{folder.name}.{uuid.uuid4().hex[:8]}")
    try:
        temporary.mkdir(parents=True)
        if source.is_dir():
            shutil.copytree(source, temporary / source.name, symlinks=True, copy_function=copy)
        else:
            shutil.copy2(source, temporary / source.name)
        with contextlib.suppress(OSError):  # another import has just brought the same
            temporary.rename(folder)
    except (OSError, shutil.Error) as error:
        raise BadInput(
            "This could not be copied",
            value=str(error)[:300],
            way_out="See whether every file can be read and the disk has room",
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    if not folder.exists():
        raise TryAgain("The copy could not be moved into place", value=str(folder))


def import_data(source: Path, project: str, task: str | None, say: Say) -> Imported:
    """Bring data to a project. The next build with `newest` learns from it.

    Where retraining is switched on and enough data wait, a build starts by itself.
    """
    owner = settings().owner
    known = projects.ensure(documents(), owner, project, task_of(project, task))
    imported = stage(source, known["project"], say)
    change_id = hashlib.sha256(imported.location.encode()).hexdigest()[:16]
    changes.add(
        documents(),
        owner,
        project,
        change_id=change_id,
        location=imported.location,
        files=imported.files,
    )
    with Airflow.connected() as airflow:
        airflow.tell_new_data({"project": project, "files": imported.files})
    return imported


def task_of(project: str, task: str | None) -> str:
    """The task that was given, or else the project's own, or else the first of all tasks."""
    if task is not None:
        return task
    found = projects.find(documents(), settings().owner, project)
    return str(found["task"]) if found else task_names()[0]


def _files(source: Path) -> Iterator[tuple[str, int, int]]:
    if source.is_file():
        stat = source.stat()
        yield source.name, stat.st_size, stat.st_mtime_ns
        return
    for folder, names, files in os.walk(source):
        names.sort()
        for name in sorted(files):
            path = Path(folder) / name
            stat = path.lstat()
            yield path.relative_to(source).as_posix(), stat.st_size, stat.st_mtime_ns
