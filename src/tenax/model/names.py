"""Defines the valid names of workflows, steps, queues and workers, for files, settings and requests alike."""

from __future__ import annotations

import re

MAX_NAME = 100
"""Characters of the name of a step, a queue or a label."""

WORKFLOW_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}"
"""The pattern of a workflow's name. It may have dots, and be longer than other names."""
MAX_WORKER_NAME = 200  # characters

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
_WORKFLOW_NAME = re.compile(WORKFLOW_NAME)


def name_fault(name: str) -> str | None:
    """Returns what is wrong with a name, as a text that follows the name. Returns None if it is valid."""
    if not _NAME.fullmatch(name):
        return "is not a name: use letters, digits, _ and - (not first)"
    if len(name) > MAX_NAME:
        return f"is not a name: it has {len(name)} characters, and {MAX_NAME} are allowed"
    return None


def worker_name_fault(name: str) -> str | None:
    """Returns what is wrong with the name of a worker, as a text that follows the name. Returns None if it is valid.

    Names of machines have many forms, so every printable text of one line is valid.
    """
    if not name or len(name) > MAX_WORKER_NAME:
        return f"is not the name of a worker: it has {len(name)} characters, and 1 to {MAX_WORKER_NAME} are allowed"
    if not name.isprintable() or name != name.strip():
        return "is not the name of a worker: use printable characters, without a space at either end"
    return None


def as_worker_name(text: str) -> str:
    """Makes the name of a worker from the name of a machine. Invalid characters become hyphens."""
    return "".join(one if one.isprintable() else "-" for one in text)[:MAX_WORKER_NAME].strip() or "worker"


def is_workflow_name(name: str) -> bool:
    return _WORKFLOW_NAME.fullmatch(name) is not None
