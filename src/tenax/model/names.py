"""What the names of workflows, steps, queues and the like may look like. One pattern for files, settings and requests."""

from __future__ import annotations

import re

MAX_NAME = 100
"""Characters of the name of a step, a queue, a tag."""

WORKFLOW_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}"
"""The pattern of a workflow's name. It may have dots, and be longer."""
MAX_WORKER_NAME = 200

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
_WORKFLOW_NAME = re.compile(WORKFLOW_NAME)


def name_fault(name: str) -> str | None:
    """Returns what is wrong with a name, in words that follow the name. Returns None if it is fine."""
    if not _NAME.fullmatch(name):
        return "is not a name: use letters, digits, _ and - (not first)"
    if len(name) > MAX_NAME:
        return f"is not a name: it has {len(name)} characters, and {MAX_NAME} are allowed"
    return None


def worker_name_fault(name: str) -> str | None:
    """Returns what is wrong with the name of a worker, in words that follow the name. Returns None if it is fine.

    Machines and people have all kinds of names, so anything goes that is printed on one line.
    """
    if not name or len(name) > MAX_WORKER_NAME:
        return f"is not the name of a worker: it has {len(name)} characters, and 1 to {MAX_WORKER_NAME} are allowed"
    if not name.isprintable() or name != name.strip():
        return "is not the name of a worker: use printable characters, without a space at either end"
    return None


def as_worker_name(text: str) -> str:
    """Makes a worker's name of what a machine is called: what no name can have becomes a hyphen."""
    return "".join(one if one.isprintable() else "-" for one in text)[:MAX_WORKER_NAME].strip() or "worker"


def is_workflow_name(name: str) -> bool:
    return _WORKFLOW_NAME.fullmatch(name) is not None
