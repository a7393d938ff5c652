"""The Dockerfiles as they are written: pinned, without root, with the folders that belong."""

from __future__ import annotations

import re
from importlib.metadata import packages_distributions

import pytest

from images.role_locks import cut, names_of, normal, read_lock, role_locks
from orchard.settings import REPOSITORY
from tests.images.closure import reached
from tests.images.roles import CODE, PYTHON_ROLES, ROLES

every_role = pytest.mark.parametrize("role", ROLES)
every_python_role = pytest.mark.parametrize("role", PYTHON_ROLES)


def dockerfile(role: str) -> str:
    """A role's Dockerfile, each instruction on one line."""
    text = (REPOSITORY / "images" / role / "Dockerfile").read_text()
    return re.sub(r"\\\n\s*", " ", text)


def instructions(role: str, name: str) -> list[str]:
    return re.findall(rf"^{name} (.+)$", dockerfile(role), re.MULTILINE)


def test_every_folder_with_a_dockerfile_is_a_role() -> None:
    assert {path.parent.name for path in (REPOSITORY / "images").glob("*/Dockerfile")} == set(ROLES)


@every_role
def test_all_stages_begin_at_the_base_that_an_argument_names(role: str) -> None:
    stages = instructions(role, "FROM")
    built = {stage.split(" AS ")[1] for stage in stages if " AS " in stage}
    assert {stage.split()[0] for stage in stages} - built == {"${BASE}"}
    assert instructions(role, "ARG")[0] == "BASE=docker.io/library/debian:bookworm-slim"


@every_role
def test_the_last_stage_runs_as_a_numbered_user_who_is_not_root(role: str) -> None:
    last = dockerfile(role).split("\nFROM ")[-1]
    assert re.findall(r"^USER (.+)$", last, re.MULTILINE) == ["10001:10001"]
    assert "USER" not in dockerfile(role).removesuffix(last)


@every_role
def test_the_last_stage_installs_no_compiler_and_no_installer(role: str) -> None:
    last = dockerfile(role).split("\nFROM ")[-1]
    named = " ".join(re.findall(r"/shared/debian\.sh ([^&\n]+)", last)).split()
    assert "tini" in named
    assert not {"gcc", "g++", "build-essential", "python3-venv", "python3-pip", "maven"} & set(
        named
    )
    assert "/opt/uv" not in last


@every_role
def test_an_image_holds_the_code_that_belongs_and_no_other(role: str) -> None:
    copied = {line.split()[0].split("/")[0] for line in instructions(role, "COPY")}
    assert copied & CODE == ROLES[role].code


@every_role
def test_labels_say_revision_and_version(role: str) -> None:
    labels = " ".join(instructions(role, "LABEL"))
    assert 'org.opencontainers.image.revision="${REVISION}"' in labels
    assert 'org.opencontainers.image.version="${VERSION}"' in labels
    assert "image.source" not in labels


@every_role
def test_what_is_written_goes_to_two_folders(role: str) -> None:
    environment = " ".join(instructions(role, "ENV"))
    assert "HOME=/var/lib/orchard" in environment
    assert "TMPDIR=/tmp" in environment


@every_python_role
def test_packages_come_from_the_role_s_lock_with_hashes(role: str) -> None:
    assert f"requirements/{role}.lock" in dockerfile(role)
    locked = read_lock_of(role)
    assert locked
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", block) for block in locked.values())


def read_lock_of(role: str) -> dict[str, str]:
    text = (REPOSITORY / "requirements" / f"{role}.lock").read_text()
    blocks = re.split(r"(?m)^(?=[A-Za-z0-9])", text)
    return {normal(block.split("==")[0]): block for block in blocks if block}


def test_locks_of_roles_are_cut_from_the_whole_lock() -> None:
    for path, text in role_locks().items():
        assert path.read_text() == text, f"{path.name} is old: make lock"


def test_roles_name_direct_dependencies_only() -> None:
    direct = names_of((REPOSITORY / "requirements.txt").read_text())
    for path in (REPOSITORY / "requirements").glob("*.txt"):
        assert names_of(path.read_text()) <= direct, path.name


@every_python_role
def test_what_a_role_s_programs_import_is_in_its_lock(role: str) -> None:
    _, packages = reached(ROLES[role].programs, CODE)
    locked = read_lock_of(role).keys()
    providers = packages_distributions()
    lacking = {
        package
        for package in packages
        if locked.isdisjoint(map(normal, providers.get(package, [package])))
    }
    assert not lacking


@every_python_role
def test_a_role_s_programs_import_no_code_that_it_lacks(role: str) -> None:
    modules, _ = reached(ROLES[role].programs, CODE)
    assert {module.split(".")[0] for module in modules} <= ROLES[role].code


@every_python_role
def test_a_role_s_lock_has_nothing_that_must_be_absent(role: str) -> None:
    providers = packages_distributions()
    for package in ROLES[role].absent:
        named = set(map(normal, providers[package]))
        assert named.isdisjoint(read_lock_of(role)), package


def test_a_lock_is_cut_along_who_asked_for_what() -> None:
    whole = read_lock(
        "a==1 \\\n    --hash=sha256:0\n    # via -r requirements.txt\n"
        "b-b==2 \\\n    --hash=sha256:1\n    # via\n    #   a\n    #   c\n"
        "c==3 \\\n    --hash=sha256:2\n    # via -r requirements.txt\n"
        "d==4 \\\n    --hash=sha256:3\n    # via b-b\n"
        "e==5 \\\n    --hash=sha256:4\n    # via c\n"
    )
    assert cut(whole, {"a"}) == (
        "a==1 \\\n    --hash=sha256:0\nb-b==2 \\\n    --hash=sha256:1\nd==4 \\\n    --hash=sha256:3\n"
    )
    with pytest.raises(ValueError, match="lacks f"):
        cut(whole, {"a", "f"})


def test_builds_name_no_machine() -> None:
    addresses = [
        found
        for path in sorted((REPOSITORY / "images").rglob("*"))
        if path.is_file() and path.suffix in {"", ".sh", ".xml"}
        for found in re.findall(r"https?://[^\s\"'<>$]+", path.read_text())
    ]
    assert set(addresses) <= {"http://maven.apache.org/POM/4.0.0"}
