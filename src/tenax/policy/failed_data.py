"""What the events of a failure for good say of the attempts behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenax.model.decision import Decision


def failed_data(
    decision: Decision, attempt: int, reason: str, failure: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Returns the data of `step_failed_terminal`, `item_failed` and `compensation_failed`.

    `attempts` are those that counted, `attempt` is the number of the last one. Version 0.1 wrote the number as `attempts`.
    """
    return {
        "attempts": decision.after.counted,
        "attempt": attempt,
        "max_attempts": decision.max_attempts,
        "final_error": failure["message"] if failure is not None else None,
        "reason": reason,
        "failure": failure,
    }
