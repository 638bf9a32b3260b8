"""Answers reports whose lease is not the current one: repeated reports and late ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from tenax.engine.slices import LARGE, give_way_after
from tenax.model.attempt.bounded import ReportContent, digest_of, encode_sorted, late_data
from tenax.model.attempt.classify import classify
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.events import event
from tenax.model.events.types import LateResult
from tenax.model.json_text import decode, encode
from tenax.model.wire import Report, ReportAnswer
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.rows import ItemRow
from tenax.store.tables import live_items
from tenax.store.tables.log import RecordedOutcome, find_outcomes, is_log_longer

MAX_LATE_RESULTS = 10
"""`late_result` events per lease token. Further reports under the token are answered but not recorded."""
Event = dict[str, Any]

_STATUSES = {
    "action_completed": "succeeded",
    "action_polled": "succeeded",
    "compensation_completed": "succeeded",
    "action_accepted": "accepted",
    "action_snoozed": "snoozed",
    "action_not_completed": "not_completed",
}
"""The reported status by the type of the event that records it."""
_REASONS = {"succeeded": ("until_limit", "template_error"), "snoozed": ("snooze_limit",)}
"""The reasons for which the server turns an attempt with one of these reported statuses into an error."""
_WITH_FACTS = ("failed", "not_completed", "accepted")


async def answer_late(
    tx: Connection,
    now: datetime,
    late: Sequence[Report],
    *,
    believed: Callable[[Outcome], Outcome],
    most: int,
) -> dict[tuple[int, str], ReportAnswer]:
    """Answers reports that match no current lease. A repeated report gets its first answer. Any other is recorded as
    late.

    `believed` removes from an outcome what only the server may say. `most` is how many bytes of a late result are kept. If the log is too long to search, a repeated report
    cannot be recognised: the report is then recorded with `unchecked`.
    """
    known = await find_outcomes(tx, [r.execution_id for r in late], [r.token for r in late])
    executions, tokens = len({r.execution_id for r in late}), len({r.token for r in late})
    live = {item.id: item for item in await live_items.lock_items(tx, [r.item_id for r in late])}
    journal = Journal(now)
    answers: dict[tuple[int, str], ReportAnswer] = {}
    for r in late:
        said = await said_by(r.outcome, believed)
        earlier = known.setdefault(r.token, [])
        same = next((known_outcome for known_outcome in earlier if is_same(known_outcome.event, said)), None)
        if same is not None:
            answers[r.item_id, r.token] = _first_answer(same, r)
            continue
        answers[r.item_id, r.token] = ReportAnswer(r.item_id, "late")
        if _is_worth_recording(r, earlier):
            recorded = _late_result(r, said, live.get(r.item_id), most)
            if not earlier and await is_log_longer(tx, r.execution_id, executions, tokens):
                recorded["data"]["unchecked"] = True
            earlier.append(RecordedOutcome(recorded, [recorded]))
            journal.log(r.execution_id, recorded)
    if journal.events:
        await journal.write(tx)
    return answers


def _is_worth_recording(late: Report, earlier: Sequence[RecordedOutcome]) -> bool:
    """Returns False if enough late results are recorded under this token.

    An acceptance by a callee is no result. It is not recorded if the attempt ended before the acceptance was reported.
    """
    if late.outcome.status == "accepted":
        return False
    return [known_outcome.event["type"] for known_outcome in earlier].count("late_result") < MAX_LATE_RESULTS


async def said_by(outcome: Outcome, believed: Callable[[Outcome], Outcome] | None = None) -> ReportContent:
    """Returns the content of an outcome in comparable form. A large outcome is processed in pieces, and other work runs
    in between."""
    said: dict[str, Any] = {"status": outcome.status}
    if outcome.status == "succeeded" or outcome.result is not None:
        said["result"] = outcome.result
    if outcome.status in _WITH_FACTS:
        facts = (believed(outcome) if believed is not None else outcome).facts or Facts()
        said["failure"] = classify(facts, status=outcome.status).as_dict()
    if outcome.after is not None:
        said["after"] = outcome.after
    body = encode(said)
    await give_way_after(len(body))
    stored: dict[str, Any] = decode(body)
    await give_way_after(len(body))
    text = encode_sorted(stored)
    if len(text) <= LARGE:
        return ReportContent(stored, digest_of(text))
    await give_way_after(len(text))
    return ReportContent(
        stored, await asyncio.to_thread(digest_of, text)
    )  # in a thread: hashing releases the interpreter lock


def is_same(recorded: Event, late: ReportContent) -> bool:
    """Returns whether this event records exactly what the report or the callback says."""
    data, said = recorded.get("data", {}), late.body
    if "digest" in data:
        return bool(data["digest"] == late.digest)
    status = said["status"]
    kind = data.get("how", recorded["type"])  # `how` names the kind of a compensation's error
    known = data.get("status") if kind == "late_result" else _STATUSES.get(kind)
    failure = data.get("failure") or {}
    if known is None:  # the event is an error
        same = (
            failure == said["failure"] if status in _WITH_FACTS else failure.get("reason") in _REASONS[status]
        )
    else:
        same = known == status and (status not in ("failed", "not_completed") or failure == said["failure"])
    if status != "snoozed":
        same = same and data.get("result") == said.get("result")
    return bool(same and data.get("after") == said.get("after"))


def _first_answer(known_outcome: RecordedOutcome, again: Report) -> ReportAnswer:
    """Finds the first answer in the events of its transaction: late, accepted, or the verdict of the decision."""
    first = known_outcome.event
    if first["type"] == "late_result":
        return ReportAnswer(again.item_id, "late")
    same = [e for e in known_outcome.together if _attempt_of(e) == _attempt_of(first)]
    decisions = [e["data"]["decision"] for e in same if e.get("data", {}).get("decision")]
    return ReportAnswer(again.item_id, "applied", str(decisions[0]["verdict"]) if decisions else None)


def _attempt_of(e: Event) -> tuple[Any, ...]:
    return (e.get("step"), e.get("item"), e.get("attempt"))


def _late_result(late: Report, said: ReportContent, item: ItemRow | None, limit: int) -> Event:
    data = late_data(said, limit)
    if item is not None and item.compensates:
        data["compensation"] = True
    number = item.item_no if item is not None else late.item
    return event(LateResult, late.step, item=number, attempt=late.attempt, token=late.token, data=data)
