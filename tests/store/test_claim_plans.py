"""What a claim costs does not grow with the queue: its statements read their indexes, and only as far as there are slots."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from plans import Explaining, analyze, fill_items, rows_read

from tenax.store import claims
from tenax.store.claims import Asking, Terms
from tenax.store.connect import connect

SLOTS = 10
LEVELS = [("default", priority) for priority in range(9, -1, -1)]
MOST = dict.fromkeys(LEVELS, SLOTS)
SHARES = [(*level, state, SLOTS) for level in LEVELS for state in ("queued", "retrying")]
ASKING = Asking(("default",), ("python",), "{}", ("w0", "w1"), SLOTS)
GIVEN = [("w1", str(uuid.uuid4()))] * SLOTS
TERMS = Terms(30.0, 1.0)
SPECIAL = {"suspects": True, "further": 50, "unshared": False, "crowds": SLOTS}
STATEMENTS: dict[str, tuple[Callable[[Any], Awaitable[Any]], set[str], int]] = {
    "lease_ready": (
        lambda tx: claims.lease_ready(tx, ASKING, SHARES, GIVEN, TERMS),
        {"item_ready", "item_pkey"},
        100,
    ),
    "lease_crowd": (
        lambda tx: claims.lease_crowd(tx, ASKING, ("default", 5), 7, GIVEN, TERMS),
        {"item_special", "item_pkey"},
        100,
    ),
    "lease_chosen": (
        lambda tx: claims.lease_chosen(tx, range(1, SLOTS + 1), GIVEN, TERMS),
        {"item_pkey"},
        100,
    ),
    "find_common": (lambda tx: claims.find_common(tx, ASKING, MOST, SLOTS), {"item_ready"}, 100),
    "find_special": (
        lambda tx: claims.find_special(tx, ASKING, MOST, 1000, 7, **SPECIAL),
        {"item_special"},
        200,
    ),
    "look_at_queues": (
        lambda tx: claims.look_at_queues(tx, ["default", "other"]),
        {"item_ready", "item_special"},
        200,
    ),
    "count_gates": (
        lambda tx: claims.count_gates(tx, ["g1", "g2"]),
        {"item_action_gate", "item_key_gate"},
        10,
    ),
    "open_gates": (
        lambda tx: claims.open_gates(tx, ["g1", "g1", "g2"]),
        {"item_action_gate", "item_key_gate", "item_blocked_action", "item_blocked_key", "item_pkey"},
        50,
    ),
    "find_suspecting_workers": (
        lambda tx: claims.find_suspecting_workers(tx, ["w0", "w1"]),
        {"item_suspect"},
        50,
    ),
}


def test_claims_read_indexes_and_not_more_than_they_need(database_url):
    async def explain() -> dict[str, list[dict[str, Any]]]:
        connection = await connect(database_url)
        found = {}
        try:
            await fill_items(connection)
            await analyze(connection)
            for name, (call, _, _) in STATEMENTS.items():
                explaining = Explaining(connection)
                await call(explaining)
                found[name] = explaining.reading("item")
            return found
        finally:
            await connection.close()

    for name, reading in asyncio.run(explain()).items():
        _, indexes, most = STATEMENTS[name]
        assert reading, name
        assert {n["Node Type"] for n in reading} <= {"Index Scan", "Index Only Scan", "Tid Scan"}, name
        assert {n["Index Name"] for n in reading if n["Node Type"] != "Tid Scan"} <= indexes, name
        assert rows_read(reading) <= most, name
