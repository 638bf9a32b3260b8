"""What the names of workflows, steps, queues and the like may look like. One pattern for files, settings and requests."""

from __future__ import annotations

import re

LONGEST_NAME = 100
"""Characters of the name of a step, a queue, a tag."""

WORKFLOW_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}"
"""The pattern of a workflow's name. It may have dots, and be longer."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
_WORKFLOW_NAME = re.compile(WORKFLOW_NAME)


def name_fault(name: str) -> str | None:
    """Returns what is wrong with a name, in words that follow the name. Returns None if it is fine."""
    if not _NAME.fullmatch(name):
        return "is not a name: use letters, digits, _ and - (not first)"
    if len(name) > LONGEST_NAME:
        return f"is not a name: it has {len(name)} characters, and {LONGEST_NAME} are allowed"
    return None


def is_workflow_name(name: str) -> bool:
    return _WORKFLOW_NAME.fullmatch(name) is not None
