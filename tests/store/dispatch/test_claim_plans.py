"""Tests that the cost of a claim does not grow with the queue: its statements read their indexes, and only as far as there are slots."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from support.connections import connected
from support.statements.query_plans import Explaining, analyze, fill_items, rows_read

from tenax.policy.dispatch.claim_plan import Share
from tenax.store.dispatch import claims
from tenax.store.dispatch.claims import LeaseTerms, WorkerGroup

SLOTS = 10
LEVELS = [("default", priority) for priority in range(9, -1, -1)]
MOST = dict.fromkeys(LEVELS, SLOTS)
UNRESTRICTED = [Share(*level, state, 0, 0, SLOTS) for level in LEVELS for state in ("queued", "retrying")]
FAN_OUT = [Share("default", 5, "", 7, 0, SLOTS)]
BOTH = [
    Share("default", 5, "", 7, 0, 1),
    Share("default", 5, "retrying", 0, 0, 4),
    Share("default", 5, "queued", 0, 0, 4),
    Share("default", 5, "queued", 0, 4, 3),
    Share("default", 5, "", 7, 1, SLOTS),
]
GROUP = WorkerGroup(("default",), ("python",), "{}", ("w0", "w1"), SLOTS)
GIVEN = [("w1", str(uuid.uuid4()))] * SLOTS
TERMS = LeaseTerms(30.0, 1.0)
RESTRICTED = {"suspects": True, "extra": 50, "max_lanes": SLOTS, "divided": True}
STATEMENTS: dict[str, tuple[Callable[[Any], Awaitable[Any]], set[str], int]] = {
    "lease_ready of unrestricted items": (
        lambda tx: claims.lease_ready(tx, GROUP, UNRESTRICTED, GIVEN, TERMS),
        {"item_ready"},
        100,
    ),
    "lease_ready of a fan-out": (
        lambda tx: claims.lease_ready(tx, GROUP, FAN_OUT, GIVEN, TERMS),
        {"item_restricted"},
        100,
    ),
    "lease_ready of both": (
        lambda tx: claims.lease_ready(tx, GROUP, BOTH, GIVEN, TERMS),
        {"item_ready", "item_restricted"},
        100,
    ),
    "lease_chosen": (
        lambda tx: claims.lease_chosen(tx, range(1, SLOTS + 1), GIVEN, TERMS),
        {"item_pkey"},
        100,
    ),
    "find_unrestricted": (lambda tx: claims.find_unrestricted(tx, GROUP, MOST, SLOTS), {"item_ready"}, 100),
    "find_restricted": (
        lambda tx: claims.find_restricted(tx, GROUP, MOST, 1000, 7, **RESTRICTED),
        {"item_restricted"},
        200,
    ),
    "read_queues": (
        lambda tx: claims.read_queues(tx, ["default", "other"]),
        {"item_ready", "item_restricted"},
        200,
    ),
    "count_running": (
        lambda tx: claims.count_running(tx, ["g1", "g2"]),
        {"item_action_limit", "item_key_limit"},
        10,
    ),
    "unblock_items": (
        lambda tx: claims.unblock_items(tx, ["g1", "g1", "g2"]),
        {"item_action_limit", "item_key_limit", "item_pkey"},
        50,
    ),
    "find_suspecting_workers": (
        lambda tx: claims.find_suspecting_workers(tx, ["w0", "w1"]),
        {"item_suspect"},
        50,
    ),
}


async def test_claims_read_indexes_and_not_more_than_they_need(database_url):
    found = {}
    async with connected(database_url) as connection:
        await fill_items(connection)
        await analyze(connection)
        for name, (call, _, _) in STATEMENTS.items():
            found[name] = Explaining(connection)
            await call(found[name])
    for name, explained in found.items():
        _, indexes, most = STATEMENTS[name]
        reading = [node for node in explained.reading("item") if node["Actual Loops"]]
        assert reading, name
        assert {n["Node Type"] for n in reading} <= {"Index Scan", "Index Only Scan", "Tid Scan"}, name
        assert {n["Index Name"] for n in reading if n["Node Type"] != "Tid Scan"} <= indexes, name
        assert rows_read(reading) <= most, name
