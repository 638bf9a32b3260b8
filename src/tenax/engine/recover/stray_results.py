"""Records results of attempts that a person ended after their transaction had committed, and before their report."""

from __future__ import annotations

from tenax.engine.context import EngineContext
from tenax.engine.late_results import answer_late
from tenax.model.attempt.outcome import Outcome
from tenax.model.wire import Report
from tenax.store.applications.attempt_results import find_stray_results, take_results
from tenax.store.tables import live_items

BATCH = 500  # results that one transaction records


async def record_stray_results(context: EngineContext) -> int:
    """Records the results whose attempts have no lease any more as late. Returns their number."""
    async with context.transaction() as tx:
        stray = await find_stray_results(tx, BATCH)
        executions, now = await live_items.lock_executions(tx, [one.execution_id for one in stray])
        results = await take_results(tx, [one.token for one in stray])
        late = [
            Report(
                one.execution_id, one.item_id, one.attempt, one.token, Outcome("succeeded", results[one.token]), one.step,
                one.item_no,
            )
            for one in stray
            if one.token in results and one.execution_id in executions
        ]  # fmt: skip
        if late and now is not None:
            await answer_late(tx, now, late, believed=_as_it_is, most=context.settings.max_late_result)
    return len(late)


def _as_it_is(outcome: Outcome) -> Outcome:
    return outcome
