"""Turns the end of an execution into its result, or into the error that explains the failure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tenax.errors import TaskFailed


class Explains(Protocol):
    async def explain(self, execution_id: int) -> Sequence[Mapping[str, Any]]: ...


async def result_of(client: Explains, execution: Mapping[str, Any]) -> Any:
    """Returns the result of a finished execution. Raises `TaskFailed` if it failed or was cancelled."""
    if execution["status"] == "completed":
        return execution["result"]
    raise await _failure_of(client, execution)


async def _failure_of(client: Explains, execution: Mapping[str, Any]) -> TaskFailed:
    execution_id, name = execution["id"], execution["workflow"]
    failure = execution.get("failure") or {}
    if execution["status"] == "cancelled":
        return TaskFailed(
            f"execution {execution_id} of {name} was cancelled",
            execution_id=execution_id,
            failure_class="cancelled",
            reason=failure.get("reason") or "cancelled_on_request",
            attempts=failure.get("attempts") or 0,
            explanation="",
        )
    attempts = failure.get("attempts") or 0
    after = f" after {attempts} {'attempt' if attempts == 1 else 'attempts'}" if attempts else ""
    about = f"{failure.get('class')} ({failure.get('reason')}): {failure.get('message') or 'no message'}"
    explained = await client.explain(execution_id)
    return TaskFailed(
        f"execution {execution_id} of {name} failed{after}: {about}",
        execution_id=execution_id,
        failure_class=str(failure.get("class")),
        reason=str(failure.get("reason")),
        attempts=attempts,
        explanation=str(explained[-1].get("text") or "") if explained else "",
    )
