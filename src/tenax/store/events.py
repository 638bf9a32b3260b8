"""Reading the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import asyncpg

from tenax.errors import UsageError
from tenax.model.events import timestamp
from tenax.model.execution_views import Event, News
from tenax.model.json_text import decode
from tenax.store.connect import Connection
from tenax.store.statements import sql


class Told(NamedTuple):
    """An event, and all events of its transaction."""

    event: dict[str, Any]
    together: list[dict[str, Any]]


async def find_outcomes(
    tx: Connection, executions: Sequence[int], tokens: Sequence[str]
) -> dict[str, list[Told]]:
    """Returns, by token, what was written about it, in that order. A token that nothing was written about is left out.

    The first is about the end of the attempt, or a late report; the others are about late reports.
    """
    found: dict[str, list[Told]] = {}
    wanted = set(tokens)
    for row in await tx.fetch(sql("find_outcomes"), sorted(set(executions)), tokens):
        events = decode(row["events"])
        for e in events:
            if e.get("token") in wanted:
                found.setdefault(e["token"], []).append(Told(e, events))
    return found


async def get_events(tx: Connection, execution_id: int, after: int = 0) -> list[Event]:
    """The events of an execution as section 13 of the contract has them, after this sequence number."""
    rows = await tx.fetch(sql("get_events"), execution_id, after)
    return [_event(row) for row in rows]


async def get_step_level_events(tx: Connection, execution_id: int) -> list[Event]:
    """All but those of single items of fan-outs."""
    return [_event(row) for row in await tx.fetch(sql("get_step_level_events"), execution_id)]


async def get_new_events(tx: Connection, execution_id: int, cursor: str | None) -> News:
    """What has come since the cursor (all, without one), and the cursor to come back with."""
    try:
        rows = await tx.fetch(sql("get_new_events"), execution_id, cursor)
    except asyncpg.DataError as error:
        raise UsageError(f"{cursor!r} is not a cursor that an earlier answer gave") from error
    return News(events=[_event(row) for row in rows if row["id"] is not None], cursor=rows[0]["cursor"])


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
