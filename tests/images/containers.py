"""Programs in an image: as its user, on a read-only root, with the two folders that may be written.

With docker that is `docker run --read-only`. With buildah it is a mount namespace and chroot, which
need root and nothing else; process and network namespaces are this machine's.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_BUILDAH = {**os.environ, "STORAGE_DRIVER": os.environ.get("STORAGE_DRIVER", "overlay")}
_ENTER = """
set -e
root=$1; shift
mount --make-rprivate /
mount --bind "$root" "$root"
while [ "$1" != -- ]; do mount --bind "${1%%=*}" "$root${1#*=}"; shift; done; shift
mount -t tmpfs tmpfs "$root/tmp"
mount -t tmpfs -o uid=10001,gid=10001,mode=770 tmpfs "$root/var/lib/orchard"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -o remount,bind,ro "$root"
exec "$@"
"""


def builder() -> str | None:
    """What images were built with: buildah, docker or None."""
    if shutil.which("buildah"):
        return "buildah" if os.geteuid() == 0 else None
    if shutil.which("docker"):
        there = subprocess.run(["docker", "info"], capture_output=True, check=False)
        return "docker" if there.returncode == 0 else None
    return None


@dataclass(frozen=True)
class Image:
    """One image: its name, and its configuration as OCI has it."""

    name: str
    configuration: dict[str, Any]

    def run(
        self,
        command: Sequence[str],
        *,
        entry: bool = False,
        mounts: dict[Path, str] | None = None,
        environment: dict[str, str] | None = None,
        seconds: float = 1200,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command, behind the image's entry point or in its place.

        Mounts are folders of this machine by their place in the image, where it has to have a
        folder already; environment is on top of the image's own.
        """
        with self._command(command, entry, mounts or {}, environment or {}) as whole:
            return subprocess.run(
                whole,
                capture_output=True,
                text=True,
                check=False,
                timeout=seconds,
                env=_BUILDAH,
                stdin=subprocess.DEVNULL,
            )

    @contextmanager
    def _command(
        self,
        command: Sequence[str],
        entry: bool,
        mounts: dict[Path, str],
        environment: dict[str, str],
    ) -> Iterator[list[str]]:
        if builder() == "docker":
            options = [f"--volume={here}:{there}:ro" for here, there in mounts.items()]
            options += [f"--env={name}={value}" for name, value in environment.items()]
            options += [] if entry else [f"--entrypoint={command[0]}"]
            writable = "/var/lib/orchard:uid=10001,gid=10001,mode=770,exec"
            yield [
                *("docker", "run", "--rm", "--read-only", "--tmpfs=/tmp:exec"),
                *(f"--tmpfs={writable}", *options, self.name),
                *(command if entry else command[1:]),
            ]
            return
        container = _buildah("from", "--pull-never", self.name)
        try:
            root = _buildah("mount", container)
            given = {
                **dict(each.split("=", 1) for each in self.configuration["Env"]),
                **environment,
            }
            user = self.configuration["User"]
            first = self.configuration["Entrypoint"] if entry else []
            yield [
                *("unshare", "--mount", "bash", "-c", _ENTER, "enter", root),
                *(f"{here}={there}" for here, there in mounts.items()),
                *("--", "chroot", f"--userspec={user}", "--groups=", root, "/usr/bin/env", "-i"),
                *(f"{name}={value}" for name, value in given.items()),
                *("sh", "-c", f'cd {self.configuration["WorkingDir"]} && exec "$@"', "start"),
                *first,
                *command,
            ]
        finally:
            _buildah("rm", container)


def image(role: str) -> Image | None:
    """The image of a role, of the names and version that `make images` gives; None if not built."""
    prefix, tag = os.environ.get("PREFIX") or "orchard", os.environ.get("TAG") or "0.1.0"
    name = f"{prefix}-{role}:{tag}"
    docker = builder() == "docker"
    command = ["docker", "image", "inspect"] if docker else ["buildah", "inspect", "--type=image"]
    found = subprocess.run(
        [*command, name], capture_output=True, text=True, check=False, env=_BUILDAH
    )
    if found.returncode != 0:
        return None
    told = json.loads(found.stdout)
    return Image(name, told[0]["Config"] if docker else told["OCIv1"]["config"])


def _buildah(*arguments: str) -> str:
    done = subprocess.run(
        ["buildah", *arguments], capture_output=True, text=True, check=True, env=_BUILDAH
    )
    return done.stdout.strip()
