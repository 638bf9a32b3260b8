"""Builds the data of events about a final failure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from tenax.model.decision import Decision
from tenax.model.events.data import TerminalData

Shape = TypeVar("Shape", bound=TerminalData)


def failed_data(
    shape: type[Shape],
    decision: Decision,
    attempt: int,
    reason: str,
    failure: Mapping[str, Any] | None,
    /,
    **own: Any,
) -> Shape:
    """Builds the data of `step_failed_terminal`, `item_failed` or `compensation_failed`, with the fields that only some
    of them have.

    `attempts` is the number of counted attempts, `attempt` the number of the last one. Version 0.1 wrote that number as
    `attempts`.
    """
    return shape(
        attempts=decision.after.counted,
        attempt=attempt,
        max_attempts=decision.max_attempts,
        final_error=failure["message"] if failure is not None else None,
        reason=reason,
        failure=failure,
        **own,
    )
