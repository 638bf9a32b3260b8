"""Cancels, pauses and resumes executions."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import run_async
from tenax.cli.flags import DEFAULT_TARGET, ExecutionId, Json, TargetFlags
from tenax.cli.output import print_json, say
from tenax.errors import UsageError
from tenax.model.durations import format_duration
from tenax.settings import Settings

Reason = Annotated[str | None, Parameter(help="The reason, which is recorded.")]
NoStep = Annotated[str | None, Parameter(name="--step", show=False)]
"""A step cannot be cancelled, paused or resumed: a command says so."""


def cancel(
    execution_id: ExecutionId,
    /,
    *,
    reason: Reason = None,
    step: NoStep = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Cancel an execution. Waiting work ends at once. Running attempts are stopped at the next heartbeat of their worker,
    and their reports are not applied.
    """
    _refuse_step("cancel", step)
    settings = where.settings()
    changed, running = run_async(_cancelled(settings, execution_id, reason))
    if json:
        print_json({"id": execution_id, "status": "cancelled"})
    elif not changed:
        say(f"execution {execution_id} was cancelled already")
    elif running:
        # The interval of heartbeats is a setting of the server, and is known only for the local one.
        within = "" if settings.server else f" (within {format_duration(settings.heartbeat)})"
        say(
            f"execution {execution_id} is cancelled; running attempts are stopped at the next heartbeat of their worker{within}"
        )
    else:
        say(f"execution {execution_id} is cancelled")


async def _cancelled(settings: Settings, execution_id: int, reason: str | None) -> tuple[bool, bool]:
    """Cancels an execution. Returns whether anything changed, and whether an attempt was running."""
    async with open_backend(settings) as backend:
        changed = await backend.cancel(execution_id, reason=reason)
        events = await backend.events(execution_id) if changed else ()
        running = any(e.type == "item_cancelled" and e.data.get("was") == "leased" for e in events)
        return changed, running


def pause(
    execution_id: ExecutionId,
    /,
    *,
    reason: Reason = None,
    step: NoStep = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Pause an execution: it starts no more work until it is resumed. Running attempts may finish, and their outcomes are
    decided on as usual. Its children are paused too.
    """
    _refuse_step("pause", step)
    changed = run_async(_paused(where, execution_id, reason, paused=True))
    if json:
        print_json({"id": execution_id, "status": "paused", "changed": changed})
    elif changed:
        go_on = where.command("resume", execution_id)
        say(f"execution {execution_id} is paused; running attempts may finish\n  resume it: {go_on}")
    else:
        say(f"execution {execution_id} was paused already")


def resume(
    execution_id: ExecutionId,
    /,
    *,
    reason: Reason = None,
    step: NoStep = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Resume a paused execution and its children."""
    _refuse_step("resume", step)
    changed = run_async(_paused(where, execution_id, reason, paused=False))
    if json:
        print_json({"id": execution_id, "status": "running", "changed": changed})
    else:
        say(f"execution {execution_id} {'goes on' if changed else 'was not paused'}")


async def _paused(where: TargetFlags, execution_id: int, reason: str | None, *, paused: bool) -> bool:
    async with open_backend(where.settings()) as backend:
        verb = backend.pause if paused else backend.resume
        return await verb(execution_id, reason=reason)


def _refuse_step(action: str, step: str | None) -> None:
    if step is not None:
        raise UsageError(
            f"{action} is for whole executions, not for a step of one",
            remedy="leave --step out; resolve, complete, fail and retry are for steps",
        )
