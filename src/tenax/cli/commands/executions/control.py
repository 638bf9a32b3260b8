"""Cancels, pauses, resumes and retries executions."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import no_worker_warning, run_async
from tenax.cli.flags import DEFAULT_TARGET, ExecutionId, Json, TargetFlags
from tenax.cli.output import print_json, say
from tenax.model.durations import format_duration
from tenax.settings import Settings

Reason = Annotated[str | None, Parameter(help="The reason, which is recorded.")]


def cancel(
    execution_id: ExecutionId,
    /,
    *,
    reason: Reason = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Cancel an execution. Waiting work ends at once. Running attempts are stopped at the next heartbeat of their worker,
    and their reports are not applied.
    """
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
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Pause an execution: it starts no more work until it is resumed. Running attempts may finish, and their outcomes are
    decided on as usual. Its children are paused too.
    """
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
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Resume a paused execution and its children."""
    changed = run_async(_paused(where, execution_id, reason, paused=False))
    if json:
        print_json({"id": execution_id, "status": "running", "changed": changed})
    else:
        say(f"execution {execution_id} {'goes on' if changed else 'was not paused'}")


async def _paused(where: TargetFlags, execution_id: int, reason: str | None, *, paused: bool) -> bool:
    async with open_backend(where.settings()) as backend:
        verb = backend.pause if paused else backend.resume
        return await verb(execution_id, reason=reason)


def retry(
    execution_id: ExecutionId,
    /,
    *,
    from_failed: Annotated[
        bool, Parameter(help="Keep the results of the steps that succeeded, if the execution is finished.")
    ] = False,
    reason: Reason = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Run waiting retries now. Run a finished execution again, as a new execution that is linked to it."""
    answer, nobody = run_async(_retried(where, execution_id, reason, from_failed=from_failed))
    if json:
        print_json(answer)
    elif answer["created"]:
        number = answer["id"]
        lines = [
            f"execution {number} is submitted: a retry of {execution_id}",
            f"follow it: {where.command('show', number, '--follow')}",
        ]
        say("\n  ".join([*lines, *([nobody] if nobody else ())]))
    else:
        say(f"execution {execution_id}: {', '.join(answer['steps'])} will be tried again now")


async def _retried(
    where: TargetFlags,
    execution_id: int,
    reason: str | None,
    *,
    from_failed: bool,
) -> tuple[dict[str, Any], str | None]:
    async with open_backend(where.settings()) as backend:
        answer = await backend.retry(execution_id, from_failed=from_failed, reason=reason)
        return answer, await no_worker_warning(backend, answer["id"], where) if answer["created"] else None
