"""Ends holds that the server itself can end: held items are decided on again. (`operate.manual_retry` has the release
by a person, which runs the item at once.)"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from tenax.engine.context import EngineContext
from tenax.engine.graph.settle import settle_found
from tenax.engine.isolate_failures import Found, IsolatedItems
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.events import event
from tenax.model.events.types import RetryReleased
from tenax.model.execution_views import Event
from tenax.model.fleet.health import SERVER_ACTOR
from tenax.policy.outcome_events import EndedAttempt
from tenax.store.connect import Connection
from tenax.store.fleet import queues
from tenax.store.journal import Journal
from tenax.store.rows import ItemRow
from tenax.store.tables import live_items
from tenax.store.tables.log import get_events


class HeldItemReleases:
    """Finds holds that no longer have a reason. An item that cannot be decided on is logged and
    isolated for a while."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._isolated = IsolatedItems()

    async def release(self) -> int:
        """Releases items that the setting `poison_after` would not hold any more. Returns their number."""
        async with self._context.transaction() as tx:
            found = await queues.find_releasable_items(
                tx, self._context.settings.poison_after, self._isolated.ids
            )
        return await self._isolated.process(found, self._decide, "a held work item cannot be decided on")

    async def _decide(self, found: Sequence[Found]) -> int:
        return await settle_found(self._context, found, _release)


async def _release(tx: Connection, journal: Journal, items: Sequence[int]) -> list[EndedAttempt]:
    held = [item for item in await live_items.lock_items(tx, items) if item.state == "held"]
    events = {id_: await get_events(tx, id_) for id_ in {item.execution_id for item in held}}
    why = "poison_after would not hold it any more"
    return [released_attempt(item, events[item.execution_id], journal, why) for item in held]


def released_attempt(item: ItemRow, events: Sequence[Event], journal: Journal, reason: str) -> EndedAttempt:
    """Logs the release. Returns the failure that the item was held for: no attempt has ended since."""
    data: dict[str, Any] = {"actor": SERVER_ACTOR, "reason": reason}
    if item.compensates:
        data["compensation"] = True
    released = event(RetryReleased, item.step, item=item.item_no, attempt=item.attempt, data=data)
    journal.log(item.execution_id, released)
    own = [e.data for e in events if (e.step, e.item) == (item.step, item.item_no)]
    failure: dict[str, Any] = next((data["failure"] for data in reversed(own) if data.get("failure")), {})
    due = next((data["available_at"] for data in reversed(own) if data.get("available_at")), None)
    due_in = (datetime.fromisoformat(due) - journal.now).total_seconds() if due is not None else 0.0
    facts = Facts(
        failure_class=failure.get("class", "worker_lost"),
        reason=failure.get("reason"),
        message=failure.get("message"),
    )
    return EndedAttempt(item, Outcome("failed", facts=facts), "released", due_in=max(due_in, 0.0))
