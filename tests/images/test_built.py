"""The images as they were built: programs are started in them (make images, make images-test)."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
from pathlib import Path

import pytest

from orchard.settings import REPOSITORY
from tests.images.closure import reached
from tests.images.containers import Image, builder, image
from tests.images.roles import CODE, PYTHON_ROLES, ROLES

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(builder() is None, reason="buildah (as root) or docker starts the images"),
]
every_role = pytest.mark.parametrize("role", ROLES)
every_python_role = pytest.mark.parametrize("role", PYTHON_ROLES)

TOOLS = (
    *("pytest", "_pytest", "pluggy", "iniconfig", "pygments", "packaging", "hypothesis"),
    *("sortedcontainers",),
)
"""What tests need beside what they test, taken from this environment: the same Python version."""

_LIBRARIES = """
import json, pathlib, subprocess, sys
lacking = {}
for path in pathlib.Path(sys.prefix).rglob("*.so*"):
    told = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
    for line in told.splitlines():
        if "not found" in line:
            lacking.setdefault(line.split()[0], path.name)
print(json.dumps(lacking))
"""


def built(role: str) -> Image:
    found = image(role)
    if found is None:
        pytest.skip(f"it was not built: make images ROLE={role}")
    return found


@every_role
def test_the_entry_point_answers(role: str) -> None:
    arguments, word = ROLES[role].answers
    done = built(role).run(arguments, entry=True)
    assert done.returncode == 0, done.stderr
    assert word in done.stdout + done.stderr


@every_role
def test_it_runs_as_nobody_in_particular_and_writes_two_folders_only(role: str) -> None:
    script = """
        id -u; id -g; id -un
        for folder in / /opt /etc /usr /var/lib /tmp /var/lib/orchard; do
            if touch "$folder/probe" 2>/dev/null; then echo "writes $folder"; fi
        done
        echo "$HOME $TMPDIR"
    """
    done = built(role).run(["sh", "-c", script])
    assert done.stdout.split("\n") == [
        *("10001", "10001", "orchard"),
        *("writes /tmp", "writes /var/lib/orchard", "/var/lib/orchard /tmp", ""),
    ]


@every_role
def test_there_is_no_compiler_no_installer_and_nothing_that_changes_the_user(role: str) -> None:
    script = """
        for name in gcc g++ cc make pip pip3 uv mvn javac; do command -v "$name"; done
        find / -xdev -perm /6000 -type f 2>/dev/null
        find /var/lib/apt/lists /cache /locks /shared /mnt /run/secrets -type f 2>/dev/null
        echo looked
    """
    done = built(role).run(["sh", "-c", script])
    assert done.stdout == "looked\n", done.stderr


@every_role
def test_labels_say_what_was_built(role: str) -> None:
    labels = built(role).configuration["Labels"]
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", labels["org.opencontainers.image.revision"])
    assert labels["org.opencontainers.image.version"]


@every_python_role
def test_what_must_be_absent_is_absent(role: str) -> None:
    names = [*ROLES[role].absent, "pip", "uv"]
    script = f"import importlib.util as u; print([n for n in {names} if u.find_spec(n)])"
    assert built(role).run(["python", "-c", script]).stdout == "[]\n"


@every_python_role
def test_the_program_s_folders_are_those_that_belong(role: str) -> None:
    done = built(role).run(["sh", "-c", "ls /opt/orchard 2>/dev/null || true"])
    assert set(done.stdout.split()) == ROLES[role].code


@every_python_role
def test_bytecode_is_there_for_the_program(role: str) -> None:
    if not ROLES[role].code:
        pytest.skip("it holds no code of the program")
    script = (
        "import orchard.settings as s, importlib.util as u, pathlib as p;"
        "c = p.Path(u.cache_from_source(s.__file__)).read_bytes();"
        "print(int.from_bytes(c[4:8], 'little'))"
    )
    assert built(role).run(["python", "-c", script]).stdout == "1\n"  # PEP 552: hash, unchecked


@every_python_role
def test_libraries_find_their_libraries(role: str) -> None:
    done = built(role).run(["python", "-c", _LIBRARIES])
    lacking = json.loads(done.stdout)
    assert {name for name in lacking if not name.startswith(("libcuda", "libnv"))} == set()


@every_python_role
def test_what_programs_import_can_be_imported(role: str) -> None:
    _, packages = reached(ROLES[role].programs, CODE)
    script = f"for n in {sorted(packages)}: __import__(n)\nprint('all')"
    done = built(role).run(["python", "-c", script])
    assert done.stdout.endswith("all\n"), done.stderr[-2000:]


def test_the_trainer_s_own_tests_pass_in_its_image(tmp_path: Path) -> None:
    """With the image's code and packages; tests and their tools are laid beside."""
    shutil.copytree(REPOSITORY / "tests", tmp_path / "tests")
    for name in TOOLS:
        found = importlib.util.find_spec(name)
        assert found is not None and found.origin is not None
        origin = Path(found.origin)
        if origin.name == "__init__.py":
            shutil.copytree(origin.parent, tmp_path / "tools" / name)
        else:
            shutil.copy(origin, tmp_path / "tools")
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    folders = ("backbones", "classification", "fine_tune", "object_detection")
    done = built("trainer").run(
        [
            *("python", "-m", "pytest", "-q", "-c", "/dev/null", "--rootdir", "/mnt"),
            *("-p", "no:cacheprovider", "-W", "ignore"),
            *(f"/mnt/tests/trainers/{folder}" for folder in folders),
        ],
        mounts={tmp_path: "/mnt"},
        environment={"PYTHONPATH": "/opt/orchard:/mnt:/mnt/tools", "OMP_NUM_THREADS": "1"},
        seconds=3000,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
