"""Reports whose lease is not the current one: told again, or too late."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from tenax.model.classify import classify
from tenax.model.events import event
from tenax.model.outcome import Facts
from tenax.model.wire import Report, ReportAnswer
from tenax.store import queue
from tenax.store.connect import Connection
from tenax.store.events import find_outcomes
from tenax.store.journal import Journal
from tenax.store.rows import ItemRow


async def answer_late(
    tx: Connection, now: datetime, late: Sequence[Report]
) -> dict[tuple[int, str], ReportAnswer]:
    """The same report again gets the first answer. Any other is recorded as late."""
    earlier = await find_outcomes(tx, [r.execution_id for r in late], [r.token for r in late])
    live = {item.id: item for item in await queue.lock_items(tx, [r.item_id for r in late])}
    journal = Journal(now)
    answers: dict[tuple[int, str], ReportAnswer] = {}
    for r in late:
        if r.token in earlier:
            answers[r.item_id, r.token] = _first_answer(earlier[r.token], r)
            continue
        answers[r.item_id, r.token] = ReportAnswer(r.item_id, "late")
        # What a callee accepted, and ended before that was reported, is no result.
        if r.outcome.status != "accepted":
            _log(journal, r, live.get(r.item_id))
    if journal.events:
        await journal.write(tx)
    return answers


def _first_answer(events: Sequence[dict[str, Any]], again: Report) -> ReportAnswer:
    """Read from the events of the same transition: late then, accepted then, or what was decided then."""
    first = next(e for e in events if e.get("token") == again.token)
    if first["type"] == "late_result":
        return ReportAnswer(again.item_id, "late")
    same = [e for e in events if _attempt_of(e) == _attempt_of(first)]
    decisions = [e["data"]["decision"] for e in same if e.get("data", {}).get("decision")]
    return ReportAnswer(again.item_id, "applied", str(decisions[0]["verdict"]) if decisions else None)


def _attempt_of(e: dict[str, Any]) -> tuple[Any, ...]:
    return (e.get("step"), e.get("item"), e.get("attempt"))


def _log(journal: Journal, late: Report, item: ItemRow | None) -> None:
    data: dict[str, Any] = {"status": late.outcome.status}
    if late.outcome.status == "succeeded":
        data["result"] = late.outcome.result
    else:
        data["failure"] = classify(late.outcome.facts or Facts(), status=late.outcome.status).as_dict()
    if item is not None and item.compensates:
        data["compensation"] = True
    number = item.item_no if item is not None else late.item
    journal.log(
        late.execution_id,
        event("late_result", late.step, item=number, attempt=late.attempt, token=late.token, data=data),
    )
