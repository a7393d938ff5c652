"""Finding a Java runtime that Spark takes (17 or later).

`python -m orchard.stack.java` prints its home.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from orchard.errors import BadInput, OrchardError
from orchard.settings import settings

LEAST = 17
PACKAGE = "openjdk-17-jre-headless"
_VERSION = re.compile(r'version "(\d+)')


def java_home(candidates: list[Path] | None = None) -> Path | None:
    """The home of the first Java of version 17 or later, or None."""
    for home in candidates if candidates is not None else _candidates():
        version = _version(home / "bin" / "java")
        if version is not None and version >= LEAST:
            return home
    return None


def require(given: Path | None) -> Path:
    """A Java home. Installs one where this is Debian and root, otherwise says the command.

    Raises BadInput with the command where Java is missing and cannot be installed from here.
    """
    found = java_home(([given] if given else []) + _candidates())
    if found is not None:
        return found
    command = f"apt-get install -y --no-install-recommends {PACKAGE}"
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise BadInput(
            f"Java {LEAST} or later was not found",
            way_out=f"Install it, then start again: sudo {command}",
        )
    print(f"Java {LEAST} was not found; installing {PACKAGE}", file=sys.stderr)
    for step in ("apt-get update -q", command + " -q"):
        done = subprocess.run(step.split(), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise OrchardError(
                "Java could not be installed",
                value=done.stderr.strip()[-300:],
                way_out=f"Run by hand: {command}",
            )
    found = java_home(_candidates())
    if found is None:
        raise OrchardError("Java was installed and is still not found", value=PACKAGE)
    return found


def _candidates() -> list[Path]:
    homes = []
    on_path = shutil.which("java")
    if on_path:
        homes.append(Path(on_path).resolve().parents[1])
    root = Path("/usr/lib/jvm")
    if root.is_dir():
        homes.extend(sorted(path for path in root.iterdir() if path.is_dir()))
    return homes


def _version(java: Path) -> int | None:
    if not java.is_file():
        return None
    try:
        done = subprocess.run(
            [str(java), "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(done.stderr)
    return int(found.group(1)) if found else None


def main() -> int:
    """Print the Java home for a script. Returns the exit code."""
    try:
        print(require(settings().java_home))
    except OrchardError as error:
        print(f"Error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
