"""What people do to executions: cancel, retry now, retry anew."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tenax.engine.core import Core, no_execution
from tenax.engine.submit import Start
from tenax.errors import Conflict
from tenax.model.events import event
from tenax.policy.transitions import check
from tenax.store import executions, queue
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.json_text import decode
from tenax.store.rows import ExecutionRow, ItemAgain
from tenax.store.steps import ended_steps


async def cancel(core: Core, execution_id: int, *, actor: str, reason: str | None) -> bool:
    """Ends an execution. What waits ends at once; leases are revoked. False: it is cancelled already."""
    async with core.transaction() as tx:
        row, now = await _locked(tx, execution_id)
        if row.state == "cancelled":
            return False
        if not row.open:
            raise Conflict(f"execution {execution_id} is {row.state}: there is nothing to cancel")
        journal = Journal(now)
        data: dict[str, Any] = {"action": "cancel", "actor": actor, "reason": reason}
        journal.log(row.id, event("operator_action", data=data))
        for item in await queue.lock_open_items(tx, [row.id], leased_too=True):
            journal.ended_items.append(item.id)
            was = {"was": item.state} | ({"worker": item.worker} if item.worker else {})
            journal.log(row.id, event("item_cancelled", item.step, item=item.item_no, data=was))
        row.become("cancelled")
        failure = {
            "class": "cancelled",
            "reason": "cancelled_on_request",
            "message": reason or f"cancelled by {actor}",
        }
        journal.execution(row, failure=failure)
        journal.log(row.id, event("execution_cancelled", data={"actor": actor, "reason": reason}))
        await journal.write(tx)
    core.hub.announce(executions=[execution_id])
    return True


async def retry_now(core: Core, execution_id: int, *, actor: str, reason: str | None) -> list[str]:
    """What waits for its next attempt starts at once. Returns the steps that were waiting."""
    async with core.transaction() as tx:
        row, now = await _locked(tx, execution_id)
        items = [item for item in await queue.lock_open_items(tx, [row.id], leased_too=False)
                 if item.state in ("retrying", "held")]  # fmt: skip
        if not items:
            raise Conflict(
                f"execution {execution_id} has no step that waits for a retry",
                remedy="`tenax show` says what it is doing",
            )
        journal = Journal(now)
        data: dict[str, Any] = {"action": "retry_now", "actor": actor, "reason": reason}
        journal.log(row.id, event("operator_action", data=data))
        for item in items:
            journal.log(row.id, event("retry_rescheduled", item.step, item=item.item_no, attempt=item.attempt,
                                      data={"available_at": now.isoformat(), "actor": actor}))  # fmt: skip
            check("item", item.state, "retrying")
            journal.items_again.append(ItemAgain(item.id, "retrying", now, item.attempt))
        await journal.write(tx)
    core.hub.announce(ready=True, executions=[execution_id])
    return [item.step for item in items]


async def retry_anew(
    core: Core, execution_id: int, *, actor: str, reason: str | None, from_failed: bool
) -> Start:
    """A finished execution as a new one, linked to it; with `from_failed` the steps that succeeded stay done."""
    async with core.transaction() as tx:
        row, _ = await _locked(tx, execution_id)
        if row.open:
            raise Conflict(f"execution {execution_id} is {row.state}: only a finished one can be run anew")
        if from_failed and row.state == "completed":
            raise Conflict(f"execution {execution_id} has completed: there is no failed step to retry from")
        plans = await core.plans.load(tx, [row.plan_id])
        done = [s for s in await ended_steps(tx, execution_id) if s.state in ("completed", "skipped")]
        return Start(
            plan=plans[row.plan_id],
            plan_id=row.plan_id,
            input=decode(row.input) or {},
            base_dir=row.base_dir,
            retry_of=execution_id,
            original_execution=row.original_execution or execution_id,
            operator={"action": "retry", "actor": actor, "reason": reason, "from_failed": from_failed},
            carried=tuple(done) if from_failed else (),
        )


async def is_open(core: Core, execution_id: int) -> bool:
    async with core.transaction() as tx:
        row = await executions.get_execution(tx, execution_id)
    if row is None:
        raise no_execution(execution_id)
    return row["state"] in ("running", "paused")


async def _locked(tx: Connection, execution_id: int) -> tuple[ExecutionRow, datetime]:
    rows, now = await queue.lock_executions(tx, [execution_id])
    if now is None:
        raise no_execution(execution_id)
    return rows[execution_id], now
