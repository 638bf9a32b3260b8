"""Finds tasks of `python` steps that their module does not define. The module is looked at and never imported."""

from __future__ import annotations

import json
import math
import posixpath
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

from tenax.cli.input.module_names import ModuleNames, names_of_source
from tenax.errors import Finding, InvalidDefinition
from tenax.model.definition.workflow import Step
from tenax.model.parse.parse import draft_workflow
from tenax.model.source.findings import Findings, nearest, shorten, suggest
from tenax.model.source.findings import Path as KeyPath
from tenax.sdk.bundle import shown_path
from tenax.worker.handlers.registry import find_module

_LARGEST_MODULE = 1_000_000  # bytes of a source that is looked at


def unknown_tasks(
    text: str | bytes, filename: str, folder: str, files: Mapping[str, str], *, installed: bool
) -> list[Finding]:
    """Returns a finding for each task that its module does not define, in the definition and in its `files`.

    The module is searched in the folder of its file, and with `installed` on `sys.path` too. A module that is not there, or
    whose source does not show all of its names, gives no finding: a worker may have it.
    """
    search = _Search(installed=installed)
    found = _of_file(text, filename, folder, search)
    for key, content in files.items():
        below = str(Path(folder) / posixpath.dirname(key))
        found += _of_file(content, shown_path(filename, key), below, search)
    return found


def findings_in_order(found: Sequence[Finding], more: Sequence[Finding]) -> list[Finding]:
    """Returns all findings, those of each file together and in the order of its lines."""
    files = {finding.file: None for finding in (*found, *more)}
    order = {file: index for index, file in enumerate(files)}
    return sorted(
        [*found, *more], key=lambda one: (order[one.file], one.line or math.inf, one.column or math.inf)
    )


def _of_file(text: str | bytes, filename: str, folder: str, search: _Search) -> list[Finding]:
    try:
        draft = draft_workflow(text, filename=filename)
    except InvalidDefinition:
        return []
    if draft.findings.source.findings:  # it cannot be read in full
        return []
    findings = Findings(draft.findings.source)
    try:
        for step, path in zip(draft.workflow.steps, draft.paths, strict=True):
            for place, task in _tasks_of(step, path):
                if message := search.fault(task, folder):
                    findings.add(place, message)
        findings.raise_if_any()
    except InvalidDefinition as error:
        return list(error.findings)
    return []


def _tasks_of(step: Step, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    """Yields the tasks of a step, of its compensation, and of the entries of `vary`. A step of a wrong file may have none."""
    for action, below in ((step, path), (step.compensate, (*path, "compensate"))):
        if action is None or action.type != "python":
            continue
        if isinstance(task := action.spec.get("task"), str):
            yield (*below, "task"), task
        entries = action.retry.get("vary", ()) if isinstance(action.retry, dict) else ()
        for index, entry in enumerate(entries):
            override: dict[str, Any] = json.loads(entry)
            if isinstance(task := override.get("task"), str):
                yield (*below, "retry", "vary", index, "task"), task


class _Search:
    """Looks at modules, each of them once."""

    def __init__(self, *, installed: bool) -> None:
        self._installed = installed
        self._known: dict[tuple[str, str], tuple[str, ModuleNames] | None] = {}

    def fault(self, task: str, folder: str) -> str | None:
        """Returns what is wrong with the name of a task, or None."""
        module, colon, path = task.partition(":")
        if not colon or "{{" in task:
            return None
        if (module, folder) not in self._known:
            self._known[module, folder] = self._look_at(module, folder)
        if (looked := self._known[module, folder]) is None:
            return None
        file, names = looked
        first = path.partition(".")[0]
        if first in names.all or first.startswith("__") or task in names.tasks:
            return None
        return (
            f"the module `{shorten(module)}` ({file}) has no function `{shorten(first)}`{_hint(first, names)}"
        )

    def _look_at(self, module: str, folder: str) -> tuple[str, ModuleNames] | None:
        """Returns the file of a module and its names, if it can be looked at."""
        spec = find_module(module, [folder])
        if spec is None and self._installed and module.partition(".")[0] not in sys.builtin_module_names:
            spec = find_module(module, sys.path)
        if spec is None or spec.origin is None or type(spec.loader) is not SourceFileLoader:
            return None
        names = _names_of_file(Path(spec.origin))
        if names is None:
            return None
        below = {name for place in spec.submodule_search_locations or () for name in _submodules(Path(place))}
        return _shown(Path(spec.origin)), ModuleNames(names.all | below, names.functions, names.tasks)


def _hint(name: str, names: ModuleNames) -> str:
    """Returns the nearest name of the module, or else its functions."""
    meant = nearest(name, sorted(names.all))
    public = sorted(one for one in names.functions if not one.startswith("_"))
    return f"; did you mean `{meant}`?" if meant is not None else suggest(name, public)


def _names_of_file(file: Path) -> ModuleNames | None:
    try:
        if not file.is_file() or file.stat().st_size > _LARGEST_MODULE:
            return None
        return names_of_source(file.read_bytes())
    except OSError:
        return None


def _submodules(folder: Path) -> Iterator[str]:
    """Yields the names of the modules of a package. They are its attributes as soon as something imports them."""
    try:
        yield from (one.name.partition(".")[0] for one in folder.iterdir())
    except OSError:
        return


def _shown(file: Path) -> str:
    """Returns the path of a module as it is seen from the working folder."""
    here = Path.cwd()
    return str(file.relative_to(here) if file.is_relative_to(here) else file)
