"""Gives the parts of foreign files names that are valid here, each only once."""

from __future__ import annotations

import re

from tenax.model.names import MAX_NAME

_STEP = re.compile(r"[^A-Za-z0-9_-]+")
_WORKFLOW = re.compile(r"[^A-Za-z0-9_.-]+")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_WORKFLOW = 180


class Names:
    """Holds the names of the steps of one workflow."""

    def __init__(self) -> None:
        self._of: dict[str, str] = {}
        self._taken: set[str] = set()

    def give(self, original: str) -> str:
        """Returns the name of a part, which is the same each time."""
        if original not in self._of:
            self._of[original] = self.fresh(original)
        return self._of[original]

    def fresh(self, wished: str) -> str:
        """Returns a name that no other part has."""
        base = _STEP.sub("_", wished).lstrip("-")[: MAX_NAME - 6] or "step"
        name, number = base, 2
        while name in self._taken:
            name, number = f"{base}-{number}", number + 1
        self._taken.add(name)
        return name

    def find(self, original: str) -> str | None:
        return self._of.get(original)


def workflow_name(original: str, default: str = "imported") -> str:
    """Returns the name of a workflow, made of a foreign name."""
    return _WORKFLOW.sub("_", original).lstrip("-.")[:_LONGEST_WORKFLOW] or default


def file_title(filename: str | None, default: str) -> str:
    """Returns the name of a file without its folder and its suffix, for a workflow that has no name."""
    stem = (filename or "").replace("\\", "/").rpartition("/")[2].partition(".")[0]
    return stem if stem and not stem.startswith("<") else default


def task_name(original: str) -> str:
    """Returns the registered name of a Python task, made of the name of a foreign handler."""
    return _WORKFLOW.sub(".", original).strip(".") or "task"


def member(path: str, key: str | int) -> str:
    """Returns the expression of a member: `path.key`, or `path['key']` if the key is no identifier."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if _IDENTIFIER.fullmatch(key) and not key.startswith("__"):
        return f"{path}.{key}"
    quoted = key.replace("\\", "\\\\").replace("'", "\\'")
    return f"{path}['{quoted}']"


def of_step(name: str, fact: str = "result") -> str:
    """Returns the expression of a fact of a step: `steps.NAME.result`."""
    return f"{member('steps', name)}.{fact}"


def of_input(name: str) -> str:
    return member("input", name)
