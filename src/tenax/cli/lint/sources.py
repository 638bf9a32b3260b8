"""Finds what the lint looks at: workflow files, folders of them, files of other systems, and the tasks of a module."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tenax.cli.input.check_definition import shown_name
from tenax.cli.input.inputs import STDIN, read_bytes
from tenax.dialects.translate import translate_text
from tenax.errors import InvalidDefinition, UsageError
from tenax.policy.lint.finding import LintFinding
from tenax.sdk.task import REGISTRY

_SUFFIXES = (".yaml", ".yml", ".json")
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_WORKFLOW = re.compile(r"""^(\s*\{.*)?["']?workflow["']?\s*:""", re.MULTILINE)
"""What a workflow file has, and no file of another system at the start of a line."""


@dataclass(slots=True)
class LintSource:
    """Is one definition, with the place where its findings are shown."""

    text: str
    shown: str
    path: Path | None = None
    """The file that a fix may change."""
    line: int | None = None
    """The line where findings are shown, for a definition that the file does not hold as it is."""

    def placed(self, finding: LintFinding) -> LintFinding:
        return finding if self.line is None else replace(finding, line=self.line, column=None)


def sources_of(name: str) -> Iterator[LintSource]:
    """Yields the definitions of a file, a folder or a module."""
    path = Path(name)
    if name != STDIN and path.is_dir():
        found = [one for one in sorted(path.rglob("*")) if one.suffix in _SUFFIXES and _is_workflow(one)]
        if not found:
            raise UsageError(f"{name}: there is no workflow file in this folder")
        for one in found:
            yield LintSource(one.read_text("utf-8"), str(one), one)
    elif name != STDIN and not path.exists() and path.suffix not in _SUFFIXES and _MODULE.fullmatch(name):
        yield from _tasks_of(name)
    else:
        yield from _of_file(name)


def _of_file(name: str) -> Iterator[LintSource]:
    content, shown = read_bytes(name), shown_name(name)
    text = content.decode("utf-8", "replace")
    if _WORKFLOW.search(text) is None:
        try:
            translated = translate_text(content, filename=shown)
        except InvalidDefinition:
            translated = (
                None  # it is none of another system either, so the errors of a workflow file are shown
            )
        if translated is not None:
            for one in translated.workflows:
                yield LintSource(one.text, shown, line=1)
            return
    yield LintSource(text, shown, None if name == STDIN else Path(name))


def _is_workflow(path: Path) -> bool:
    try:
        return path.is_file() and _WORKFLOW.search(path.read_text("utf-8")) is not None
    except (OSError, UnicodeDecodeError):
        return False


def _tasks_of(module: str) -> Iterator[LintSource]:
    """Yields the definitions of the tasks of a module, each with the place of its function."""
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise UsageError(f"{module}: there is no such file and no such module ({error})") from None
    tasks = [task for task in REGISTRY if task.module == module or task.module.startswith(f"{module}.")]
    if not tasks:
        raise UsageError(f"{module}: this module has no tasks", remedy="a task is a function with `@task`")
    for task in tasks:
        file, line = _place_of(task.declared)
        yield LintSource(task.definition(), file, line=line)


def _place_of(function: Any) -> tuple[str, int]:
    code = inspect.unwrap(function).__code__
    path = Path(code.co_filename)
    shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return str(shown), code.co_firstlineno
