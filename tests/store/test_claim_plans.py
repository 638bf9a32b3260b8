"""What a claim costs does not grow with the queue: its statements read their indexes, and only as far as there are slots."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tenax.store.claims import _leasing
from tenax.store.connect import Connection, connect
from tenax.store.statements import sql

SLOTS = 10
_ITEMS = """
insert into tenax.item (execution_id, plan_id, step, state, queue, runtime, priority, available_at, created_at, lane, blocked,
                        action_gate, action_most, timeout, labels, worker, lease_token, lease_until, timeout_at, suspect)
select n, 1, 's', $2, 'default', 'python', $3 + n % $4, tenax.now() + make_interval(secs => $5 - n / 1000.0), tenax.now(),
       case when $6 then 1 + n % 20 else 0 end, $7, case when $7 then 'g' || n % 10 end, 1, 300,
       case when n % 7 = 0 then '{"zone": "a"}'::jsonb end, case when $2 = 'leased' then 'w' || n % 50 end,
       case when $2 = 'leased' then gen_random_uuid() end, case when $2 = 'leased' then tenax.now() end,
       case when $2 = 'leased' then tenax.now() end, $2 = 'leased' and n % 100 = 0
  from generate_series(1, $1) as n
"""


async def fill(connection: Connection) -> None:
    """100,000 ready items, 50,000 retries that are not due, 20 crowds of 1,000, 5,000 at their limits, 2,000 leased."""
    await connection.execute(_ITEMS, 100_000, "queued", 0, 10, 0.0, False, False)
    await connection.execute(_ITEMS, 50_000, "retrying", 5, 1, 3600.0, False, False)
    await connection.execute(_ITEMS, 20_000, "queued", 5, 2, 0.0, True, False)
    await connection.execute(_ITEMS, 5_000, "queued", 5, 1, 0.0, False, True)
    await connection.execute(_ITEMS, 2_000, "leased", 5, 1, 0.0, False, False)
    await connection.execute("vacuum analyze tenax.item")


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)


async def explained(connection: Connection, statement: str, *arguments: Any) -> list[dict[str, Any]]:
    """The nodes of the plan that read items, as it went; nothing of it stays."""
    undone = connection.transaction()
    await undone.start()
    try:
        text = await connection.fetchval(f"explain (analyze, format json) {statement}", *arguments)
    finally:
        await undone.rollback()
    return [node for node in nodes(json.loads(text)[0]["Plan"]) if node.get("Relation Name") == "item"]


def rows_read(found: list[dict[str, Any]]) -> float:
    return sum(
        (n["Actual Rows"] + n.get("Rows Removed by Filter", 0)) * n["Actual Loops"]
        for n in found
        if n["Node Type"] != "ModifyTable"
    )


LEVELS = [("default", priority) for priority in range(9, -1, -1)]
QUEUES, PRIORITIES = [queue for queue, _ in LEVELS], [priority for _, priority in LEVELS]
MOST = [SLOTS] * len(LEVELS)
WORKERS = ["w0", "w1"]
STATEMENTS: dict[str, tuple[str, tuple[Any, ...], set[str], int]] = {
    "pick_ready_items": (
        _leasing(sql("pick_ready_items")),
        (["w1"] * SLOTS, [str(uuid.uuid4())] * SLOTS, 30.0, 1.0, QUEUES, PRIORITIES, ["python"], "{}"),
        {"item_ready", "item_pkey"},
        100,
    ),
    "pick_chosen_items": (
        _leasing(sql("pick_chosen_items")),
        (["w1"] * SLOTS, [str(uuid.uuid4())] * SLOTS, 30.0, 1.0, list(range(1, SLOTS + 1))),
        {"item_pkey"},
        100,
    ),
    "find_common_items": (
        sql("find_common_items"),
        (QUEUES, PRIORITIES, MOST, ["python"], "{}", SLOTS),
        {"item_ready"},
        100,
    ),
    "find_special_items": (
        sql("find_special_items"),
        (QUEUES, PRIORITIES, MOST, ["python"], "{}", 1000, WORKERS, 7, True, 50, False, SLOTS),
        {"item_special"},
        200,
    ),
    "look_at_queues": (
        sql("look_at_queues"),
        (["default", "other"],),
        {"item_ready", "item_special"},
        200,
    ),
    "count_gates": (sql("count_gates"), (["g1", "g2"],), {"item_action_gate", "item_key_gate"}, 10),
    "open_gates": (
        sql("open_gates"),
        (["g1", "g1", "g2"],),
        {"item_action_gate", "item_key_gate", "item_blocked_action", "item_blocked_key", "item_pkey"},
        50,
    ),
    "find_suspecting_workers": (sql("find_suspecting_workers"), (WORKERS,), {"item_suspect"}, 50),
}


@pytest.fixture
def plans(database_url: str) -> dict[str, list[dict[str, Any]]]:
    async def explain() -> dict[str, list[dict[str, Any]]]:
        connection = await connect(database_url)
        try:
            await fill(connection)
            return {
                name: await explained(connection, statement, *arguments)
                for name, (statement, arguments, _, _) in STATEMENTS.items()
            }
        finally:
            await connection.close()

    return asyncio.run(explain())


def test_claims_read_indexes_and_not_more_than_they_need(plans):
    for name, (_, _, indexes, most) in STATEMENTS.items():
        reading = [n for n in plans[name] if n["Node Type"] != "ModifyTable"]
        assert reading, name
        assert {n["Node Type"] for n in reading} <= {"Index Scan", "Index Only Scan"}, name
        assert {n["Index Name"] for n in reading} <= indexes, name
        assert rows_read(reading) <= most, name
