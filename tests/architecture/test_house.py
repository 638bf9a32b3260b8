"""Checks the shape of the source: small rooms, statements in files, and requirements that match the project's own."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "tenax").rglob("*.py"))
QUERIES = sorted((ROOT / "src" / "tenax" / "sql" / "queries").glob("*/*.sql"))


def test_modules_are_small():
    sizes = {str(p.relative_to(ROOT)): p.read_text().count("\n") for p in SOURCES}
    assert {name: lines for name, lines in sizes.items() if lines > 400} == {}


def test_rooms_are_small_and_say_what_they_are_for():
    """A room that only holds other rooms, or files that are no modules, has no modules of its own."""
    rooms = [p for p in SOURCES if p.name == "__init__.py" and p.parent.name != "tenax"]
    sizes = {str(p.parent.relative_to(ROOT)): len(list(p.parent.glob("*.py"))) - 1 for p in rooms}
    assert {name: n for name, n in sizes.items() if n != 0 and not 3 <= n <= 15} == {}
    assert [str(p) for p in rooms if not ast.get_docstring(ast.parse(p.read_text()))] == []


def test_folders_of_statements_are_small_and_named_like_a_module_or_a_room_of_the_store():
    """`filters` has a file for each field of filters. `parts` are included in several statements."""
    store = ROOT / "src" / "tenax" / "store"
    names = {p.stem for p in store.rglob("*.py")} | {p.name for p in store.iterdir() if p.is_dir()}
    sizes = Counter(p.parent.name for p in QUERIES)
    assert set(sizes) - names - {"filters", "parts"} == set()
    assert {name: n for name, n in sizes.items() if name != "filters" and not 3 <= n <= 15} == {}


def test_folders_of_tests_are_small():
    folders = Counter(str(p.parent.relative_to(ROOT)) for p in (ROOT / "tests").rglob("*.py"))
    assert {name: n for name, n in folders.items() if n > 16} == {}


def test_functions_are_short():
    long = {}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno
                if lines > 60:
                    long[f"{path.name}:{node.name}"] = lines
    assert long == {}


def test_every_broad_except_says_why():
    """A handler of any exception raises it again after it has cleaned up, or says in a comment why it is that broad."""
    silent = []
    for path in SOURCES:
        text = path.read_text()
        lines = text.splitlines()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ExceptHandler) and _is_broad(node.type):
                raised = isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None
                said = re.search(r"# (noqa: BLE001 --? )?(?!noqa)\w.{12,}$", lines[node.lineno - 1])
                if not raised and not said:
                    silent.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert silent == []


def _is_broad(caught: ast.expr | None) -> bool:
    parts = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(part is None or ast.unparse(part) in ("Exception", "BaseException") for part in parts)


def test_every_statement_is_used_and_every_used_one_exists():
    code = "\n".join(p.read_text() for p in SOURCES)
    used = set(re.findall(r'(?:sql|named)\("(\w+)"\)', code)) | set(
        re.findall(r'"((?:lease|pick)_\w*items)"', code)
    )
    used |= {name for p in QUERIES for name in re.findall(r"\{(\w+)\}", p.read_text())}
    assert used == {p.stem for p in QUERIES}


@pytest.mark.parametrize(
    ("file", "names"), [("run", ("project", "dependencies")), ("dev", ("dependency-groups", "dev"))]
)
def test_the_requirements_are_those_of_the_project(file, names):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for name in names:
        project = project[name]
    asked = [
        line
        for line in (ROOT / "requirements" / f"{file}.in").read_text().splitlines()
        if line[:1] not in "#-"
    ]
    assert asked == project


@pytest.mark.parametrize("file", ["build", "run", "dev"])
def test_requirements_are_pinned_by_hash_and_name_no_host(file):
    text = (ROOT / "requirements" / f"{file}.txt").read_text()
    assert "--hash=sha256:" in text
    assert not re.search(r"https?://|--index-url|--extra-index", text)
    pins = re.findall(r"^[a-z0-9][\w.-]*==", text, re.MULTILINE)
    assert len(pins) == len(re.findall(r"^[a-z0-9]", text, re.MULTILINE))
