"""The jars of a Hadoop: fetched by Maven once, kept outside of the checkout, checked at every use."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from orchard.settings import REPOSITORY

_FOLDER = REPOSITORY / "images" / "hdfs"
"""Which jars, and their content: those of the image, so that both run the same Hadoop."""
_SECONDS = 900.0


class NotFetched(RuntimeError):
    """The jars could not be had; the text says why."""


def hadoop() -> Path:
    """The folder with the jars that `images/hdfs/SHA256SUMS` lists, each with the content it says.

    Raises:
        NotFetched: Maven is missing or failed, or a jar is another than the one that is listed.
    """
    listed = _listed()
    name = hashlib.sha256(repr(sorted(listed.items())).encode()).hexdigest()[:16]
    folder = _cache() / "jars" / f"hadoop-{name}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetch-") as temporary:
            fetched = Path(temporary) / "jars"
            _fetch(fetched)
            _compare(fetched, listed)
            try:
                fetched.rename(folder)
            except OSError:  # another process was faster
                if not folder.is_dir():
                    raise
    _compare(folder, listed)
    return folder


def _cache() -> Path:
    """The user's folder for what can be fetched again (XDG Base Directory Specification)."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "orchard"


def _listed() -> dict[str, str]:
    lines = (_FOLDER / "SHA256SUMS").read_text().splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}


def _fetch(folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise NotFetched("Maven (mvn) fetches the jars of HDFS, and it is not installed")
    done = subprocess.run(
        [
            *(maven, "-B", "-q", "-f", str(_FOLDER / "pom.xml"), "dependency:copy-dependencies"),
            *("-DincludeScope=runtime", f"-DoutputDirectory={folder}"),
        ],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise NotFetched(f"Maven could not fetch the jars of HDFS: {done.stdout[-1500:]}")


def _compare(folder: Path, listed: dict[str, str]) -> None:
    found = {}
    for path in folder.iterdir():
        with path.open("rb") as file:
            found[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    wrong = sorted(name for name in found.keys() | listed if found.get(name) != listed.get(name))
    if wrong:
        raise NotFetched(f"These jars in {folder} are not those that are listed: {wrong}")
