"""The short way of items of a fan-out: first attempts that succeed, while others of the same fan-out are still to end. They are only
counted. What ends the fan-out, and whatever is otherwise, goes the long way (`report`), which leaves the same behind."""

from __future__ import annotations

from collections.abc import Sequence

from tenax.engine.core import Core
from tenax.engine.fan_out import end_item, fan_key
from tenax.engine.finish import Ended, Key
from tenax.engine.records import decision_record, log_item
from tenax.engine.wake import announce
from tenax.model.wire import ReportAnswer
from tenax.policy.decide import SUCCESS_AT_ONCE
from tenax.policy.plan import Plan
from tenax.store import queue
from tenax.store.fans import load_fans
from tenax.store.finish import end_fan_items
from tenax.store.journal import Journal
from tenax.store.rows import ExecutionRow, FanRow, LeasedItem, Run
from tenax.store.steps import StepKey


async def finish_fan_items(core: Core, ended: Sequence[Ended]) -> dict[Key, ReportAnswer]:
    """Counts what can be counted the short way. What is not in the answer was left as it is."""
    batches: dict[StepKey, list[Ended]] = {}
    for one in ended:
        plan = core.plans.known(one.item.plan_id)
        if one.is_first_success and plan is not None and _is_only_counted(plan, one.item):
            batches.setdefault(fan_key(one.item), []).append(one)
    if not batches:
        return {}
    async with core.straight() as tx:
        executions, now = await queue.lock_executions(tx, [execution_id for execution_id, _ in batches])
        fans = await load_fans(tx, sorted(batches))
        going = [
            one
            for key, batch in batches.items()
            if key in fans and _goes_on(executions[key[0]], fans[key], len(batch))
            for one in batch
        ]
        if now is None or not going:
            return {}
        over = await end_fan_items(tx, [one.item for one in going])
        journal = Journal(now)
        for one in going:
            if one.item.id in over:
                _count(journal, fans[fan_key(one.item)], one)
        await journal.write(tx)
    announce(core.hub, journal)
    return {
        (one.item.id, one.item.token): ReportAnswer(one.item.id, "applied", "complete")
        for one in going
        if one.item.id in over
    }


def _is_only_counted(plan: Plan, item: LeasedItem) -> bool:
    """A success of it is one, nobody waits for its place under a limit, and nothing may ask for its element later."""
    planned = plan.steps[item.step]
    plain = planned.until is None and planned.step.concurrency is None and planned.compensation is None
    return plain and "async" not in planned.step.spec


def _goes_on(row: ExecutionRow, fan: FanRow, count: int) -> bool:
    """It is open, and these are not the last of it."""
    return row.state == "running" and not row.failing and not fan.closed and fan.ended + count < fan.total


def _count(journal: Journal, fan: FanRow, one: Ended) -> None:
    item, outcome = one.item, one.report.outcome
    data = {
        "result": outcome.result,
        "seconds": round((journal.now - item.started_at).total_seconds(), 6),
        "decision": decision_record(SUCCESS_AT_ONCE),
    }
    log_item(journal, "action_completed", item, data, attempt=item.attempt, token=item.token)
    end_item(journal, fan, item, outcome.result, None, keep_element=False)
    journal.runs.append(Run(item.worker, item.id, item.started_at, "sound"))
