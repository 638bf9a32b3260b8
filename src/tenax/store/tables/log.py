"""Reads the log."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import asyncpg

from tenax.errors import UsageError
from tenax.model.events import timestamp
from tenax.model.execution_views import (
    EVIDENCE_LEFT_OUT,
    LARGE_EVIDENCE,
    LEFT_OUT,
    Event,
    News,
    left_out,
)
from tenax.model.json_text import decode, encode
from tenax.model.metrics.pages import EventPage
from tenax.store.connect import Connection
from tenax.store.journal import EVENTS_PER_ROW
from tenax.store.statements import sql
from tenax.store.time_slices import Sliced


class RecordedOutcome(NamedTuple):
    """Is an event that records an outcome, with all events of its transaction."""

    event: dict[str, Any]
    together: list[dict[str, Any]]


LOOK_ROWS = 50_000
"""Rows of an execution's log with which a late report is compared, the newest first."""
LOOK_BYTES = 16_000_000
"""Bytes of these rows. A batch that names many tokens reads fewer of them."""
PAGE_ROWS = 1_000  # rows of a page of the log
PAGE_BYTES = 4_000_000
"""Bytes of a page of the log, unless a single row is larger."""


async def find_outcomes(
    tx: Connection, executions: Sequence[int], tokens: Sequence[str]
) -> dict[str, list[RecordedOutcome]]:
    """Returns the recorded outcomes of each token, in the order of the log. Tokens without any are left out.

    The first outcome is the end of the attempt, or a late report. The others are late reports. Of a long log only the
    newest rows are searched (`is_log_longer`).
    """
    found: dict[str, list[RecordedOutcome]] = {}
    wanted = set(tokens)
    places = sorted(set(executions))
    arguments = (places, sorted(wanted), *_look(len(places), len(wanted)))
    for row in await tx.fetch(sql("find_outcomes"), *arguments):
        events = decode(row["events"])
        for e in events:
            if e.get("token") in wanted:
                found.setdefault(e["token"], []).append(RecordedOutcome(e, events))
    return found


async def is_log_longer(tx: Connection, execution_id: int, executions: int = 1, tokens: int = 1) -> bool:
    """Returns whether the log of an execution has more rows than `find_outcomes` searches for this many executions and tokens."""
    return bool(await tx.fetchval(sql("is_log_longer"), execution_id, *_look(executions, tokens)))


def _look(executions: int, tokens: int) -> tuple[int, int]:
    """Returns the rows and bytes to search in each execution, so that a batch costs about as much as one report."""
    # Up to eight tokens are searched for in the text, one after the other. For more tokens the text is parsed.
    size = LOOK_BYTES // tokens if tokens <= 8 else LOOK_BYTES // 8
    return max(LOOK_ROWS // executions, 100), max(size // executions, 100_000)


async def find_attempt_events(
    tx: Connection, execution_id: int, step: str, item: int | None, attempt: int
) -> list[dict[str, Any]]:
    """Returns the events of one attempt, among the newest rows of the log."""
    parts = (encode(step), str(attempt))
    arguments = (execution_id, step, item, attempt, *parts, LOOK_ROWS, LOOK_BYTES)
    return [decode(row["event"]) for row in await tx.fetch(sql("find_attempt_events"), *arguments)]


async def get_events(tx: Connection, execution_id: int) -> list[Event]:
    """Returns the events of an execution, as section 13 of the contract defines them."""
    return await _events(await tx.fetch(sql("get_events"), execution_id))


class LogPosition(NamedTuple):
    """Says how far an execution's log has been read: the last row, the sequence number and time of its last event, and the snapshot used."""

    row: int
    seq: int
    at: datetime | None
    snapshot: str
    size: int = 0
    """Bytes that have been read."""


async def find_log_position(tx: Connection, execution_id: int, after: int = 0) -> LogPosition:
    """Returns the place to read from for the events after a sequence number. The first page may have some earlier
    events."""
    return LogPosition(*await tx.fetchrow(sql("find_log_position"), execution_id, after))


async def get_events_page(
    tx: Connection, execution_id: int, position: LogPosition
) -> tuple[list[Event], LogPosition]:
    """Returns the next events of an execution, up to a number of bytes, and the place after them. An empty page is the
    end of the log."""
    found: list[Event] = []
    last, seq, at, snapshot, size = position
    arguments = (execution_id, last, snapshot, PAGE_BYTES, PAGE_ROWS, at)
    rows = await tx.fetch(sql("get_log_page"), *arguments)
    async for row in Sliced(rows):
        at, last, size = row["at"], row["id"], size + len(row["events"])
        shown = timestamp(at)
        for number, e in enumerate(decode(row["events"])):
            seq += 1
            found.append(_event_of(e, last + number, seq, shown))
    return found, LogPosition(last, seq, at, snapshot, size)


def _event_of(e: dict[str, Any], id_: int, seq: int, at: str) -> Event:
    return Event(
        id=id_,
        seq=seq,
        type=e["type"],
        at=at,
        step=e.get("step"),
        item=e.get("item"),
        attempt=e.get("attempt"),
        data=e.get("data") or {},
    )


async def get_event_page(
    tx: Connection, execution_id: int, *, before: int | None, after: int | None, limit: int
) -> EventPage:
    """Returns the events next before an event, or next after one, by their ids. Without either, the last ones. The
    events have their sequence numbers, for which the events before are counted."""
    # An event's id is that of its row and its place there: the row of an event at the edge is read too.
    low = None if after is None else after - EVENTS_PER_ROW
    rows = await tx.fetch(sql("get_log_rows"), execution_id, before, low, limit + 1, PAGE_BYTES)
    if not rows:
        return EventPage(events=[], older=None, newer=None)
    start = await tx.fetchrow(sql("count_log_before"), execution_id, rows[0]["id"])
    seq, at = start["seq"], start["at"]
    found: list[Event] = []
    for row in rows:
        at = row["at"] if at is None else max(at, row["at"])
        for number, e in enumerate(decode(row["events"])):
            seq += 1
            found.append(_event_of(e, row["id"] + number, seq, timestamp(at)))
    wanted = [e for e in found if (before is None or e.id < before) and (after is None or e.id > after)]
    shown = wanted[-limit:] if after is None else wanted[:limit]
    if not shown:
        return EventPage(events=[], older=after and after + 1, newer=before and before - 1)
    is_last = after is None and before is None
    ended = is_last or (after is not None and shown[-1] is found[-1] and len(rows) <= limit)
    return EventPage(
        events=shown,
        older=shown[0].id if shown[0].seq > 1 else None,
        newer=None if ended else shown[-1].id,
    )


async def get_step_level_events(tx: Connection, execution_id: int, most: int) -> list[Event]:
    """Returns all events except those of single items of fan-outs. After `most` bytes, markers replace large
    results and the evidence of failures."""
    rows = await tx.fetch(sql("get_step_level_events"), execution_id, most, LARGE_EVIDENCE)
    found = await _events(rows)
    for event, row in zip(found, rows, strict=True):
        if row["result_size"] is not None:
            event.data["result"] = left_out(row["result_size"])
        if row["is_brief"]:
            event.data["failure"][LEFT_OUT] = EVIDENCE_LEFT_OUT
    return found


async def get_item_events(
    tx: Connection, execution_id: int, step: str, numbers: Sequence[int]
) -> list[Event]:
    """Returns the events of some items of a fan-out, in their order. They have no sequence numbers."""
    parts = [f'"item":{space}{number}' for number in numbers for space in ("", " ")]
    return await _events(await tx.fetch(sql("get_item_events"), execution_id, step, numbers, parts))


async def get_new_events(tx: Connection, execution_id: int, cursor: str | None) -> News:
    """Returns the events since the cursor, and the next cursor. Without a cursor it returns all events.

    A cursor is a snapshot of PostgreSQL. If one page could not hold all events, it has three parts: the snapshot
    before, the snapshot up to which events are read, and the last row of the page.
    """
    since, _, rest = (cursor or "").partition(";")
    until, _, last = rest.partition(";")
    try:
        arguments = (execution_id, since or None, until or None, int(last or 0), PAGE_BYTES)
        rows = await tx.fetch(sql("get_new_events"), *arguments)
    except (asyncpg.DataError, ValueError) as error:
        raise UsageError(f"{cursor!r} is not a cursor that an earlier answer gave") from error
    following = f"{since};{rows[-1]['cursor']};{rows[-1]['row']}" if rows[-1]["more"] else rows[0]["cursor"]
    return News(events=await _events([row for row in rows if row["id"] is not None]), cursor=following)


async def _events(rows: Sequence[Any]) -> list[Event]:
    return [_event(row) async for row in Sliced(rows)]


def _event(row: Any) -> Event:
    return Event(
        id=row["id"],
        seq=row["seq"],
        type=row["type"],
        at=timestamp(row["at"]),
        step=row["step"],
        item=row["item"],
        attempt=row["attempt"],
        data=decode(row["data"]),
    )
