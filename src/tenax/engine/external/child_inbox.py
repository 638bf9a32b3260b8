"""Delivers messages to executions, each under the lock of its receiver: a child has ended, or a child is to be
cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import structlog
from msgspec.structs import replace

from tenax.engine.context import EngineContext
from tenax.engine.graph.settle import delays_of, settle
from tenax.engine.isolate_failures import IsolatedItems
from tenax.engine.notifier import announce, whenever
from tenax.errors import Unreachable
from tenax.model.attempt.outcome import Facts, Outcome, Usage
from tenax.model.execution_views import LEFT_OUT
from tenax.policy.outcome_events import EndedAttempt
from tenax.store.budgets.budgets import Amount, spent_by_trees
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.rows import ExecutionRow, ItemRow
from tenax.store.tables import inbox, live_items
from tenax.store.tables.inbox import EndedChild, Message

BATCH = 200  # messages that one transaction handles
_log = structlog.get_logger("tenax.inbox")


class InboxDelivery:
    def __init__(self, context: EngineContext, cancel: Callable[[int, str | None], Awaitable[None]]) -> None:
        """`cancel` ends an execution and its children, if they are open, for the given reason."""
        self._context = context
        self._cancel_family = cancel
        self._wake = asyncio.Event()
        self._isolated = IsolatedItems()

    def wake(self) -> None:
        self._wake.set()

    async def run(self) -> None:
        await whenever(self._wake, self.deliver)

    async def deliver(self, most: int = BATCH) -> int:
        """Delivers the waiting messages. Returns the number of messages handled."""
        seen: list[Message] = []
        try:
            return await self._deliver(most, seen)
        except Unreachable:
            raise
        except Exception:  # noqa: BLE001 -- one broken message must not keep the others back
            if most == 1:
                _log.exception("a message cannot be delivered", message=seen[0] if seen else None)
                for message in seen:
                    self._isolated.isolate(message.id)
                return 0
            return sum([await self.deliver(1) for _ in range(max(len(seen), 1))])

    async def _deliver(self, most: int, seen: list[Message]) -> int:
        async with self._context.transaction() as tx:
            seen += await inbox.take_messages(tx, most, self._isolated.ids)
            if not seen:
                return 0
            journal, delays = await _apply_endings(
                tx, self._context, [m for m in seen if m.kind == "child_ended"]
            )
            await inbox.drop_messages(tx, [message.id for message in seen if message.kind == "child_ended"])
        if journal is not None:
            announce(self._context.notifier, journal, delays)
        for message in seen:
            if message.kind == "cancel":
                await self._cancel(message)
        return len(seen)

    async def _cancel(self, message: Message) -> None:
        await self._cancel_family(message.execution_id, message.body["reason"])
        async with self._context.transaction() as tx:
            await inbox.drop_messages(tx, [message.id])


async def _apply_endings(
    tx: Connection, context: EngineContext, messages: Sequence[Message]
) -> tuple[Journal | None, Sequence[float]]:
    executions, now = await live_items.lock_executions(tx, [message.execution_id for message in messages])
    if now is None:
        return None, ()
    ids = [message.body["child"] for message in messages]
    children = await inbox.ended_children(tx, ids, context.settings.max_rendered)
    items = {item.id: item for item in await live_items.lock_items(tx, [m.body["item"] for m in messages])}
    spent = await _spent(tx, context, executions, list(items.values()), ids)
    ended: list[EndedAttempt] = []
    for message in messages:
        if (child := children.get(message.body["child"])) is None:
            continue
        item = items.get(message.body["item"]) or await _rebuilt(tx, message.execution_id, child)
        if item is not None and item.child == child.id:
            ended.append(EndedAttempt(item, _with_usage(_outcome(child), spent.get(child.id)), "ended"))
    journal = Journal(now)
    decisions = await settle(tx, context, journal, executions, ended)
    return journal, delays_of(decisions)


async def _spent(
    tx: Connection,
    context: EngineContext,
    executions: Mapping[int, ExecutionRow],
    items: Sequence[ItemRow],
    children: Sequence[int],
) -> dict[int, Amount]:
    """Returns the amounts that the trees of children have spent, if their parents have a budget."""
    plans = await context.plans.load(tx, {item.plan_id for item in items})
    limited = any(
        item.plan_id in plans and plans[item.plan_id].steps[item.step].budget is not None for item in items
    )
    if not limited and not any(row.budgeted for row in executions.values()):
        return {}
    return await spent_by_trees(tx, children)


def _with_usage(outcome: Outcome, spent: Amount | None) -> Outcome:
    """Adds the amount that the tree of a child has spent to the outcome. The budgets of the trees around it were charged
    already."""
    return outcome if spent is None else replace(outcome, usage=Usage(*spent))


async def _rebuilt(tx: Connection, execution_id: int, child: EndedChild) -> ItemRow | None:
    """Returns the item that now waits for the child, if the item that started it was lost and rebuilt."""
    step, item_no = child.parent_step, child.parent_item_no
    waiting = await live_items.lock_accepted_items(tx, execution_id, "child", step=step, item=item_no)
    return next((item for item in waiting if item.child == child.id), None)


def _outcome(child: EndedChild) -> Outcome:
    """Returns the outcome of the parent's step. A failed child is a failure with the child's class, and with its
    history as evidence."""
    is_left_out = isinstance(child.result, dict) and LEFT_OUT in child.result
    if child.state == "completed" and (child.result_size is not None or is_left_out):
        size = (
            "is too large to be one value"
            if child.result_size is None
            else f"has {child.result_size:,} bytes"
        )
        message = (
            f"the result of child execution {child.id} {size}, which is more than its parent can take"
            " (`max_rendered`); let its `outputs` give less"
        )
        facts = Facts(failure_class="invalid", reason="result_too_large", message=message)
        return Outcome("failed", facts=facts)
    if child.state == "completed":
        return Outcome("succeeded", child.result)
    failure = child.failure or {}
    evidence: dict[str, Any] = {
        "execution_id": child.id,
        **{
            name: failure[name]
            for name in ("class", "reason", "message", "step", "attempts", "child")
            if name in failure
        },
    }
    words = failure.get("message", f"it is {child.state}")
    if child.state == "cancelled":
        facts = Facts(
            failure_class="cancelled",
            reason="child_cancelled",
            message=f"child execution {child.id} was cancelled: {words}",
            child=evidence,
        )
    else:
        facts = Facts(
            failure_class="logical",
            reason="child_failed",
            message=f"child execution {child.id} failed: {words}",
            child=evidence,
        )
    return Outcome("failed", facts=facts)
