"""The documents say what the code does: commands, settings, messages, fields, licences, links."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from orchard.checking.summary import CONFLICT
from orchard.cli.main import parser
from orchard.decode.refusal import CODES
from orchard.decode.sound_refusal import SOUND_CODES
from orchard.settings import REPOSITORY, Settings

PAGES = sorted(
    [REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md"), *REPOSITORY.glob("dags/docs/*")]
)
OPERATORS = REPOSITORY / "docs" / "operators.md"
USERS = REPOSITORY / "docs" / "users.md"
CODE = ("orchard", "operators", "spark_jobs", "trainers", "serving", "dags", "plugins", "examples")

ROOTS = {"OrchardError", "AirflowException", "AirflowFailException", "AirflowSkipException"}
REFUSALS_OF_FILES = {"PictureRefused", "SoundRefused"}
"""Raised for one file, with a code; the users' page lists the codes."""


def test_commands_of_make_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))
    named = {
        found
        for page in PAGES
        for text in _commands(page.read_text())
        for found in re.findall(r"(?:^|[;&|] )make ([a-z-]+)", text)
    }
    assert {"demo", "test", "down", "train"} <= named <= targets


def test_commands_of_the_command_line_parse() -> None:
    parsed = set()
    for page in PAGES:
        for text in _commands(page.read_text()):
            found = re.search(r"python -m orchard ([a-z].*)", text)
            if found is None:
                continue
            words = shlex.split(found[1], comments=True)
            # In a sentence a verb may stand alone; its help shows that it exists.
            words = [*words, "--help"] if len(words) == 1 else words
            try:
                parsed.add(parser().parse_args(words).name)
            except SystemExit as error:
                assert error.code == 0, f"{page.name}: {text}"
    assert {"import", "train", "report", "predict", "rollback", "export", "retrain"} <= parsed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        goal = (page.parent / path).resolve() if path else page
        assert goal.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in _anchors(goal.read_text()), f"{page.name}: {target}"


def test_settings_are_listed_with_their_defaults() -> None:
    rows = {
        cells[0].strip("`"): cells[1]
        for cells in _table_rows(OPERATORS.read_text())
        if re.fullmatch(r"`ORCHARD_[A-Z_]+`", cells[0])
    }
    expected = {
        f"ORCHARD_{name.upper()}": _shown(field.default)
        for name, field in Settings.model_fields.items()
    }
    assert rows == expected


def test_messages_are_listed() -> None:
    section = OPERATORS.read_text().split("\n## Messages\n")[1].split("\n## ")[0]
    listed = {cells[0] for cells in _table_rows(section)}
    said = set(_headlines())
    assert len(said) > 150
    assert said - listed == set(), "messages that the operators' page lacks"
    assert listed - said == set(), "messages that no code has"


def test_reasons_of_refused_files_are_listed() -> None:
    section = USERS.read_text().split("\n## Why a file was refused\n")[1].split("\n## ")[0]
    listed = {
        code for cells in _table_rows(section) for code in re.findall(r"`([a-z_0-9]+)`", cells[0])
    }
    assert listed == set(_codes())


def test_fields_of_the_form_are_listed() -> None:
    section = USERS.read_text().split("\n## The form\n")[1].split("\n## ")[0]
    listed = {cells[0] for cells in _table_rows(section)}
    assert listed == set(_titles())


def test_licences_of_direct_dependencies_are_listed() -> None:
    lines = (REPOSITORY / "requirements.txt").read_text().splitlines()
    needed = {
        re.split(r"[<=>\[ ]", line)[0]
        for line in lines
        if line.strip() and not line.startswith("#")
    }
    rows = {
        cells[0].strip("`"): cells[1]
        for cells in _table_rows((REPOSITORY / "docs" / "licences.md").read_text())
        if cells[0].startswith("`")
    }
    assert set(rows) == needed
    assert all(rows.values())


def _commands(text: str) -> Iterator[str]:
    """Lines of fenced blocks, indented blocks and code in sentences."""
    for block in re.findall(r"```[a-z]*\n(.*?)```", text, re.DOTALL):
        yield from (line.strip() for line in block.splitlines())
    for line in text.splitlines():
        if line.startswith("    "):
            yield line.strip()
        yield from re.findall(r"`([^`]+)`", line)


def _anchors(text: str) -> set[str]:
    """The anchors that the headings of a page get."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in kept}


def _table_rows(text: str) -> Iterator[list[str]]:
    """Cells of the rows of tables, without heads."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        rule = re.fullmatch(r"\|[-:| ]+\|", line) or re.fullmatch(r"\|[-:| ]+\|", following)
        if line.startswith("|") and not rule:
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def _shown(default: object) -> str:
    """A default as the table has it."""
    if default in ("", (), {}):
        return "empty"
    if isinstance(default, Path):
        return f"`{default.relative_to(REPOSITORY)}`"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return "none" if default is None else f"`{default}`"


@cache
def _trees() -> dict[Path, ast.Module]:
    return {
        path: ast.parse(path.read_text())
        for folder in CODE
        for path in sorted((REPOSITORY / folder).rglob("*.py"))
    }


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


@cache
def _classes() -> list[tuple[Path, ast.ClassDef]]:
    return [
        (path, node)
        for path, tree in _trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]


@cache
def _errors() -> dict[Path, set[str]]:
    """Names of the classes of errors that people read, by the file that defines them."""
    kinds = set(ROOTS)
    while (
        found := {each.name for _, each in _classes() if kinds.intersection(map(_name, each.bases))}
        - kinds
    ):
        kinds |= found
    errors: dict[Path, set[str]] = {path: set() for path in _trees()}
    for path, each in _classes():
        if each.name in ROOTS or kinds.intersection(map(_name, each.bases)):
            errors[path].add(each.name)
    return errors


def _kinds(path: Path) -> set[str]:
    """What of these a file may mean by their names."""
    errors = _errors()
    others = {each.name for at, each in _classes() if each.name not in errors[at]}
    # A name that some other class has too means the error only where the error is defined.
    return (ROOTS.union(*errors.values()) - others | errors[path]) - REFUSALS_OF_FILES


def _headlines() -> Iterator[str]:
    """What every error says first; `…` stands for what changes."""
    for path, tree in _trees().items():
        kinds = _kinds(path)
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        for function in functions:
            for call in _own_calls(function):
                if call.args and _is_kind(call.func, function, kinds):
                    yield from _texts(call.args[0], function, tree)


def _own_calls(function: ast.FunctionDef) -> Iterator[ast.Call]:
    """Calls in a function, without those of functions inside of it."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Call):
            yield node
        if not isinstance(node, ast.FunctionDef):
            pending.extend(ast.iter_child_nodes(node))


def _is_kind(called: ast.expr, function: ast.FunctionDef, kinds: set[str]) -> bool:
    """Whether a call makes an error: by its class, or by a variable that holds one."""
    if _name(called) in kinds:
        return True
    return isinstance(called, ast.Name) and any(
        _name(part) in kinds
        for value in _assigned(called.id, function)
        if isinstance(value, ast.IfExp)
        for part in (value.body, value.orelse)
    )


def _assigned(name: str, function: ast.FunctionDef) -> list[ast.expr]:
    return [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and any(_name(target) == name for target in node.targets)
    ]


def _texts(node: ast.expr, function: ast.FunctionDef, tree: ast.Module) -> Iterator[str]:
    """The texts that an argument may stand for."""
    if isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp):
        yield _text(node)
    elif isinstance(node, ast.BoolOp):
        yield from (_text(part) for part in node.values if isinstance(part, ast.JoinedStr))
    elif isinstance(node, ast.Name) and (values := _assigned(node.id, function)):
        for value in values:
            yield from _texts(value, function, tree)
    elif isinstance(node, ast.Name):  # a parameter: what the callers hand over
        for each in _trees().values():
            for call in ast.walk(each):
                if isinstance(call, ast.Call) and _name(call.func) == function.name:
                    yield from _texts(call.args[0], function, each)
    elif isinstance(node, ast.Call) and _name(node.func) != "str":
        (maker,) = (
            each
            for each in ast.walk(tree)
            if isinstance(each, ast.FunctionDef) and each.name == _name(node.func)
        )
        for back in ast.walk(maker):
            if isinstance(back, ast.Return) and back.value is not None:
                yield from _texts(back.value, maker, tree)
    else:
        # What another error said is passed on, or came back from a worker.
        assert ast.unparse(node) in ("str(error)", "said['text'].strip()"), ast.unparse(node)


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return re.sub("…+", "…", "".join(map(_text, node.values)))
    if isinstance(node, ast.BinOp):
        return re.sub("…+", "…", _text(node.left) + _text(node.right))
    return "…"


_PLACES_OF_CODES = {"Refusal": 1, "Refused": 0, "Settled": 2, "UnusableLabel": 0, "UnusableXml": 0}


def _codes() -> Iterator[str]:
    """Codes of the reasons why a file is refused."""
    yield from CODES
    yield from SOUND_CODES
    yield CONFLICT
    for tree in _trees().values():
        for call in ast.walk(tree):
            if not isinstance(call, ast.Call):
                continue
            place = _PLACES_OF_CODES.get(_name(call.func))
            if place is not None and len(call.args) > place:
                code = call.args[place]
                if isinstance(code, ast.Constant) and re.fullmatch("[a-z_]+", str(code.value)):
                    yield str(code.value)
            if _name(call.func) == "alias" and [_text(each) for each in call.args] == ["code"]:
                yield from (
                    str(part.value)
                    for part in ast.walk(call.func)
                    if isinstance(part, ast.Constant) and "_" in str(part.value)
                )


def _titles() -> Iterator[str]:
    """Titles of the form's fields."""
    for call in ast.walk(_trees()[REPOSITORY / "dags" / "build_model.py"]):
        if isinstance(call, ast.Call) and _name(call.func) == "Param":
            yield from (_text(each.value) for each in call.keywords if each.arg == "title")
