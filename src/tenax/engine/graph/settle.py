"""Settles ended attempts whose executions are locked: each goes through the one transition, and then the graph
advances.

Outcomes, decisions and the items they queue go into one journal, which one transaction writes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from tenax.engine.context import EngineContext
from tenax.engine.graph.advance import advance_executions
from tenax.engine.graph.budget_book import BudgetBook, is_in_tree
from tenax.engine.graph.compensation import write
from tenax.engine.graph.execution_update import ExecutionUpdate
from tenax.engine.graph.fan_out import close_fan_outs, fan_out_key
from tenax.engine.graph.recorded_results import with_recorded_results
from tenax.engine.isolate_failures import Found
from tenax.engine.notifier import announce
from tenax.engine.slices import TimeSlice
from tenax.model.attempt.outcome import Outcome
from tenax.model.decision import Decision
from tenax.policy.outcome_events import EndedAttempt
from tenax.policy.plan import Plan, action_of
from tenax.policy.transition import Transition, transition
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.rows import ExecutionRow, FanOutRow
from tenax.store.tables import live_items
from tenax.store.tables.fan_outs import load_fan_outs
from tenax.store.tables.steps import StepKey

NOT_RECORDED = Outcome("failed")
_log = structlog.get_logger("tenax.settle")


async def settle(
    tx: Connection,
    context: EngineContext,
    journal: Journal,
    executions: dict[int, ExecutionRow],
    ended: Sequence[EndedAttempt],
) -> list[Decision]:
    """Decides on each ended attempt and writes everything that follows. The executions and the items must be locked."""
    journal.max_result_bytes = context.settings.max_rendered
    plans = await context.plans.load(tx, {attempt.item.plan_id for attempt in ended})
    keys = {fan_out_key(attempt.item) for attempt in ended if attempt.item.item_no is not None}
    fan_outs = await load_fan_outs(tx, sorted(keys)) if keys else {}
    in_trees = [one.item for one in ended if is_in_tree(one.item.ledger) and not one.budgets]
    book = await BudgetBook.open(tx, in_trees) if in_trees else None
    settling = _Settling(context, journal, executions, plans, fan_outs, book)
    decisions: list[Decision] = []
    time_slice = TimeSlice()
    for attempt in ended:
        if time_slice.is_over:
            await time_slice.give_way()
        decisions.append(settling.settle(attempt))
    if fan_outs:
        await close_fan_outs(tx, journal, settling.update, fan_outs.values())
    await advance_executions(tx, journal, [update for update in settling.updates.values() if update.ended])
    if book is not None:
        book.forget(journal.ended_items)
        await book.write(tx, journal.now)
    await write(tx, context, journal)
    return decisions


async def settle_found(
    context: EngineContext,
    found: Sequence[Found],
    end: Callable[[Connection, Journal, Sequence[int]], Awaitable[Sequence[EndedAttempt]]],
) -> int:
    """Settles items whose attempts the server itself ends, in one transaction. `end` locks those of these items that are still to end, and
    says how. Returns their number."""
    if not found:
        return 0
    async with context.transaction() as tx:
        executions, now = await live_items.lock_executions(tx, [execution_id for _, execution_id in found])
        if now is None:
            return 0
        journal = Journal(now)
        ended = await end(tx, journal, [item_id for item_id, _ in found])
        decisions = await settle(tx, context, journal, executions, ended)
    announce(context.notifier, journal, delays_of(decisions))
    return len(ended)


async def settle_recorded(context: EngineContext, found: Sequence[Found]) -> int:
    """Settles attempts that have committed their results, before somebody ends them otherwise. Returns their number."""

    async def end(tx: Connection, _journal: Journal, ids: Sequence[int]) -> list[EndedAttempt]:
        leased = [item for item in await live_items.lock_items(tx, ids) if item.state == "leased"]
        ended = await with_recorded_results(tx, [EndedAttempt(item, NOT_RECORDED) for item in leased])
        return [one for one in ended if one.outcome is not NOT_RECORDED]

    return await settle_found(context, found, end)


def delays_of(decisions: Sequence[Decision]) -> list[float]:
    """Returns the seconds until each of these retries is due."""
    return [d.delay.delay for d in decisions if d.delay is not None]


@dataclass(slots=True)
class _Settling:
    """Settles a batch of ended attempts, one after the other."""

    context: EngineContext
    journal: Journal
    executions: Mapping[int, ExecutionRow]
    plans: Mapping[int, Plan]
    fan_outs: Mapping[StepKey, FanOutRow]
    book: BudgetBook | None = None
    """The budgets of the trees that items belong to. None if there are none, as almost always."""
    updates: dict[int, ExecutionUpdate] = field(default_factory=dict)

    def update(self, execution_id: int) -> ExecutionUpdate:
        row = self.executions[execution_id]
        return self.updates.setdefault(
            execution_id, ExecutionUpdate(row, self.plans[row.plan_id], self.context.rendering)
        )

    def settle(self, ended: EndedAttempt) -> Decision:
        item = ended.item
        row = self.executions[item.execution_id]
        fan_out = None if item.compensates else self.fan_outs.get(fan_out_key(item))
        charged = self.book is not None and not ended.budgets and is_in_tree(item.ledger)
        if self.book is not None and charged:
            ended.budgets = self.book.trees(item)
        made = transition(
            self.plans[item.plan_id],
            ended,
            execution_open=row.open and (item.compensates or not row.failing),
            fan_out=fan_out,
            rules=self.context.rules,
            now=self.journal.now,
            roll=self.context.roll(),
        )
        if row.failing:
            self.journal.failing[row.id] = row
        if ended.lost is not None and ended.lost.silent_since is not None and made.run is not None:
            self.journal.losses.append(ended.lost)
        self._take(made, fan_out)
        if self.book is not None and charged:
            plan = self.plans[item.plan_id]
            action = action_of(plan, item.step, compensates=item.compensates, policy=item.policy)
            self.book.settle(self.journal, item, action, made.decision)
        return made.decision

    def _take(self, made: Transition, fan_out: FanOutRow | None) -> None:
        """Adds a transition to what the batch writes."""
        item, journal = made.item, self.journal
        journal.add(made)
        if made.decision.verdict == "hold" and not made.unpaid:
            _log.warning("a work item is held", execution_id=item.execution_id, step=item.step, item=item.item_no,
                         rule=made.decision.rule, reason=made.decision.reason)  # fmt: skip
        if made.ended_step is not None:
            self.update(item.execution_id).ended.append(made.ended_step)
        if fan_out is not None and (made.item_result is not None or fan_out.parallelism is not None):
            if made.item_result is not None:
                fan_out.count(made.item_result)
            if fan_out.parallelism is not None:
                fan_out.placed -= item.placed
            journal.fan_outs[fan_out_key(item)] = fan_out
