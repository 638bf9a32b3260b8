"""Admits items whose next attempt a budget can pay, holds those that must wait, and fails those that can never be paid.

Every first attempt in a tree with a budget passes here, because only the holder of the budget's lock may reserve.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tenax.engine.context import EngineContext
from tenax.engine.graph.budget_book import BudgetBook
from tenax.engine.graph.settle import settle
from tenax.engine.notifier import announce
from tenax.engine.recover.server_holds import released_attempt
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.changes import ItemAgain
from tenax.model.decision import Decision, read_ledger
from tenax.model.events.data import ReleasedRetryData
from tenax.model.events.types import RetryReleased
from tenax.model.execution_views import Event
from tenax.model.fleet.health import SERVER_ACTOR
from tenax.policy.outcome_events import EndedAttempt, item_event
from tenax.policy.plan import Plan, PlannedAction, action_of
from tenax.policy.queued_action import queue_deadline
from tenax.policy.retry.budgets import Answer, payments
from tenax.policy.transitions import check
from tenax.store.budgets import reservations
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.rows import ExecutionRow, ItemRow
from tenax.store.tables import live_items
from tenax.store.tables.log import get_events

BATCH = 200  # items of one tree that one transaction looks at
_PAID = "the budget can pay it"


async def admit_tree(context: EngineContext, root: int) -> int:
    """Looks at the items of a tree that wait for its budget. Returns the number of those that need not wait any more."""
    async with context.transaction() as tx:
        found = await reservations.find_unpaid_items(tx, root, BATCH)
        executions, now = await live_items.lock_executions(tx, [execution_id for _, execution_id in found])
        if now is None:
            return 0
        # Another server may have admitted some of them before the locks were taken.
        waiting = {item_id for item_id, _ in await reservations.find_unpaid_items(tx, root, BATCH)}
        items = await live_items.lock_items(tx, sorted(waiting & {item_id for item_id, _ in found}))
        items = [item for item in items if not executions[item.execution_id].failing]
        plans = await context.plans.load(tx, {item.plan_id for item in items})
        items = [item for item in items if item.plan_id in plans]
        admissions = _Admissions(Journal(now), plans, await BudgetBook.open(tx, items))
        for item in items:
            await admissions.look_at(tx, item)
        decisions = await admissions.settle(tx, context, executions)
    announce(context.notifier, admissions.journal, [d.delay.delay for d in decisions if d.delay is not None])
    if admissions.admitted:
        context.notifier.announce(ready=True, restricted=True)
    return len(admissions.admitted) + sum(decision.verdict == "fail" for decision in decisions)


@dataclass(slots=True)
class _Admissions:
    journal: Journal
    plans: Mapping[int, Plan]
    book: BudgetBook
    admitted: dict[int, str] = field(default_factory=dict)
    """The queues of admitted items."""
    undecided: list[EndedAttempt] = field(default_factory=list)
    released: list[tuple[ItemRow, EndedAttempt]] = field(default_factory=list)
    events: dict[int, list[Event]] = field(default_factory=dict)

    async def look_at(self, tx: Connection, item: ItemRow) -> None:
        answer = self._answer(item)
        if answer == "wait" and item.state == "held":
            return
        trees = self.book.trees(item)
        if answer == "pay":
            self.book.reserve(item, self._action(item))
            self._admit(item)
        if item.state != "held":
            if answer != "pay":
                self.undecided.append(EndedAttempt(item, _unpaid(), "admission", budgets=trees))
        elif item.attempt and answer in ("pay", "never"):
            if item.execution_id not in self.events:
                self.events[item.execution_id] = await get_events(tx, item.execution_id)
            again = released_attempt(item, self.events[item.execution_id], self.journal, _PAID)
            again.budgets = trees
            self.released.append((item, again))
        elif answer == "never":
            self.undecided.append(EndedAttempt(item, _unpaid(), "admission", budgets=trees))
        else:
            self._queue(item)

    def _answer(self, item: ItemRow) -> Answer:
        """Returns whether every budget can pay the item's next attempt. What was reserved for it before still is."""
        if self.book.has_reserved(item):
            return "pay"
        ledger = read_ledger(item.ledger, 0.0)
        policy = self._action(item).policy.policy
        answers = {one.answer for one in payments(policy, ledger, ledger, self.book.trees(item))}
        return "never" if "never" in answers else "wait" if "wait" in answers else "pay"

    def _action(self, item: ItemRow) -> PlannedAction:
        return action_of(
            self.plans[item.plan_id], item.step, compensates=item.compensates, policy=item.policy
        )

    def _admit(self, item: ItemRow) -> None:
        self.admitted[item.id] = self._action(item).queued.queue

    def _queue(self, item: ItemRow) -> None:
        """Queues an item that was held before its first attempt."""
        check("item", item.state, "queued")
        now = self.journal.now
        data = ReleasedRetryData(available_at=now, actor=SERVER_ACTOR, reason=_PAID)
        self.journal.log(item.execution_id, item_event(RetryReleased, item, data))
        self.journal.items_again.append(
            ItemAgain(
                item.id,
                item.execution_id,
                item.step,
                item.item_no,
                "queued",
                now,
                queue_deadline(self._action(item).step, now),
                item.attempt,
            )
        )

    async def settle(
        self, tx: Connection, context: EngineContext, executions: dict[int, ExecutionRow]
    ) -> list[Decision]:
        ended = [*self.undecided, *(again for _, again in self.released)]
        decisions = await settle(tx, context, self.journal, executions, ended)
        for (item, _), decision in zip(self.released, decisions[len(self.undecided) :], strict=True):
            if decision.verdict != "retry":
                self.book.give_back(item)
                self.admitted.pop(item.id, None)
        await self.book.write(tx, self.journal.now)
        if self.admitted:
            await reservations.admit_items(tx, self.admitted)
        return decisions


def _unpaid() -> Outcome:
    message = "the budget cannot pay an attempt"
    return Outcome("failed", facts=Facts(failure_class="budget", reason="budget_exceeded", message=message))
