"""Act on executions."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from tenax.cli.backend import open_backend, run_async
from tenax.cli.flags import ANYWHERE, ExecutionId, Json, Where
from tenax.cli.output import print_json, say

Reason = Annotated[str | None, Parameter(help="Why, for the record.")]


def cancel(
    execution_id: ExecutionId, /, *, reason: Reason = None, json: Json = False, where: Where = ANYWHERE
) -> None:
    """End an execution. What waits ends at once; what runs is told to stop, and its report is not applied."""
    run_async(_cancelled(where, execution_id, reason))
    if json:
        print_json({"id": execution_id, "status": "cancelled"})
    else:
        say(f"execution {execution_id} is cancelled")


async def _cancelled(where: Where, execution_id: int, reason: str | None) -> None:
    async with open_backend(where.settings()) as backend:
        await backend.cancel(execution_id, reason=reason)


def retry(
    execution_id: ExecutionId,
    /,
    *,
    from_failed: Annotated[
        bool, Parameter(help="Of a finished execution: keep the results of the steps that succeeded.")
    ] = False,
    reason: Reason = None,
    json: Json = False,
    where: Where = ANYWHERE,
) -> None:
    """Run what waits for its next attempt now; run a finished execution again, as a new one linked to it."""
    answer = run_async(_retried(where, execution_id, from_failed, reason))
    if json:
        print_json(answer)
    elif answer["created"]:
        say(
            f"execution {answer['id']} is submitted: a retry of {execution_id}\n  follow it: tenax show {answer['id']} --follow"
        )
    else:
        say(f"execution {execution_id}: {', '.join(answer['steps'])} will be tried again now")


async def _retried(where: Where, execution_id: int, from_failed: bool, reason: str | None) -> dict[str, Any]:  # noqa: FBT001 -- private, one call
    async with open_backend(where.settings()) as backend:
        return await backend.retry(execution_id, from_failed=from_failed, reason=reason)
