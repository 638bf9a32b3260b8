"""Compares the log of a test's database with the declarations of the event types."""

from __future__ import annotations

import json

import asyncpg

from tenax.model.events import check_event


async def log_faults(connection: asyncpg.Connection) -> list[str]:
    """Returns the faults of the events in the log, in their order. The same fault of one type is returned only once."""
    if await connection.fetchval("select to_regclass('tenax.log')") is None:
        return []
    rows = await connection.fetch("select events from tenax.log order by id")
    told = [(body["type"], check_event(body), body) for row in rows for body in json.loads(row["events"])]
    first = {(kind, fault): body for kind, fault, body in reversed(told) if fault is not None}
    return [f"{kind}: {fault}: {body}" for (kind, fault), body in reversed(first.items())]
