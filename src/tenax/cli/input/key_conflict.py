"""Describes the conflict if a unique key belongs to an earlier execution."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from tenax.drawing.text_lines import one_line
from tenax.errors import TenaxError
from tenax.model.wire import Submission


def key_conflict_text(submission: Submission, execution: Mapping[str, Any], *, then: str) -> str:
    """Returns the message. `then` says what follows. It also mentions if the execution has another input than the one given now."""
    words = f"execution {execution['id']} has this key already: {then}"
    if _with_defaults(submission) != execution["input"]:
        words += f"\n  the input given now is not the one it runs with: {one_line(execution['input'])}"
    return words


def _with_defaults(submission: Submission) -> dict[str, Any]:
    """Returns the input with its defaults, as the server completes it. If the file cannot be read here, returns it unchanged."""
    from tenax.model.parse.parse import check_input
    from tenax.policy.check import load_workflow

    with contextlib.suppress(TenaxError):
        return check_input(load_workflow(submission.source or ""), submission.input)
    return dict(submission.input)
