"""The table of work items: which statement each of its indexes serves, and what its constraints refuse."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import pytest
from support.connections import connected
from support.statements.query_plans import Explaining, analyze, fill_executions, fill_items, rows_read

from tenax.policy.queued_action import SERVER_QUEUE
from tenax.store.budgets import reservations
from tenax.store.connect import Connection
from tenax.store.dispatch import able_workers, claims
from tenax.store.dispatch.claims import WorkerGroup
from tenax.store.fleet import worker_health, workers
from tenax.store.statements import sql
from tenax.store.tables import compensations, due_items, inbox, live_items
from tenax.store.tables import fan_outs as fans

GROUP = WorkerGroup(("default",), ("python",), "{}", ("w0", "w1"), 10)
LEVELS = dict.fromkeys([("default", priority) for priority in range(9, -1, -1)], 10)
RESTRICTED = {"suspects": True, "extra": 50, "max_lanes": 10, "divided": True}
NOBODY = "00000000-0000-4000-8000-000000000000"

SERVES: dict[str, tuple[Callable[[Any], Awaitable[Any]], int]] = {
    "item_pkey": (lambda tx: live_items.load_leased_items(tx, [1], [NOBODY]), 10),
    "item_ready": (lambda tx: claims.find_unrestricted(tx, GROUP, LEVELS, 10), 100),
    "item_restricted": (lambda tx: claims.find_restricted(tx, GROUP, LEVELS, 1000, 7, **RESTRICTED), 200),
    "item_action_limit": (lambda tx: claims.count_running(tx, ["g1", "g2"]), 10),
    "item_key_limit": (lambda tx: claims.unblock_items(tx, ["g1", "g1", "g2"]), 50),
    "item_labelled": (able_workers.find_asked_labels, 6_000),
    "item_refused": (lambda tx: due_items.find_unwanted_items(tx, 30.0), 500),
    "item_suspect": (lambda tx: claims.find_suspecting_workers(tx, ["w0", "w1"]), 50),
    "item_due": (lambda tx: tx.fetch(sql("next_wake"), [], SERVER_QUEUE, 5.0), 100),
    "item_expiry": (lambda tx: due_items.find_expired_items(tx, 10, []), 100),
    "item_without_slot": (lambda tx: fans.find_free_slots(tx, 10), 100),
    "item_undo": (lambda tx: compensations.start_next(tx, 7, WHEN, []), 10),
    "item_execution": (lambda tx: live_items.lock_open_items(tx, [7], running_too=True), 11_000),
    "item_unpaid": (lambda tx: reservations.find_unpaid_trees(tx, []), 10),
}
"""A statement for each index, and the rows of items that it may read."""
WHEN = "2026-01-01 00:00:00+00"
_WAITING = """
insert into tenax.item (execution_id, plan_id, step, item_no, state, stopped_by, compensates, queue, runtime, priority,
                        available_at, created_at, timeout)
select 7, 1, case when $1 then 'u' else 's' end, n, 'waiting', case when not $1 then 'slot' end, $1, 'default', 'python', 5,
       tenax.now(), tenax.now(), 300
  from generate_series(1, 5000) as n
"""


async def fill(connection: Connection) -> None:
    """Items in many states; an execution with 5,000 items without a slot, and 5,000 compensations that wait."""
    await fill_items(connection)
    await fill_executions(connection)
    for compensates in (False, True):
        await connection.execute(_WAITING, compensates)
    await connection.execute(
        "insert into tenax.fan (execution_id, step, total, tolerated, parallelism, placed) values (7, 's', 5000, 0, 2, 1)"
    )
    await connection.execute(
        "update tenax.item set refused_by = '{w1}' where id % 1000 = 0 and state = 'queued'"
    )
    await analyze(connection)


async def test_each_index_has_a_statement_that_reads_it_and_little_of_it(database_url):
    read = {}
    async with connected(database_url) as connection:
        await fill(connection)
        rows = await connection.fetch(
            "select indexname from pg_indexes where schemaname = 'tenax' and tablename = 'item'"
        )
        for index, (call, _) in SERVES.items():
            read[index] = Explaining(connection)
            await call(read[index])
    there = {row["indexname"] for row in rows}
    assert there == set(SERVES)
    for index, explaining in read.items():
        assert index in {node.get("Index Name") for node in explaining.nodes}
        assert rows_read(explaining.reading("item")) <= SERVES[index][1], index
    assert len(there) <= 14, "13 besides the key"


OF_STATES: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "count_leased_items": lambda tx: tx.fetch(sql("count_leased_items"), ["default"]),
    "load_standings": worker_health.load_standings,
    "is_fleet_sound": lambda tx: worker_health.is_fleet_sound(tx, silence=30.0, lease=30.0, window=300.0),
    "find_leases_of_grants": lambda tx: tx.fetch(sql("find_leases_of_grants"), [NOBODY], "w0"),
    "list_leases": lambda tx: workers.list_leases(tx, "w0", 10),
    "find_releasable_items": lambda tx: tx.fetch(sql("find_releasable_items"), 3, []),
    "find_unheard_children": inbox.find_unheard_children,
}
"""Statements about the items in one state: none of them may read the items that wait in the queue."""


async def test_statements_about_one_state_do_not_read_the_queue(database_url):
    read = {}
    async with connected(database_url) as connection:
        await fill(connection)
        for name, call in OF_STATES.items():
            explaining = Explaining(connection)
            await call(explaining)
            read[name] = rows_read(explaining.reading("item"))
    assert {name: rows for name, rows in read.items() if rows > 2_000} == {}


async def test_the_next_end_of_many_is_found_by_one_entry_for_each_state(database_url):
    async with connected(database_url) as connection:
        await connection.execute(_WAITING, True)
        await connection.execute(
            "update tenax.item set state = 'accepted', awaiting = 'sleep', expires_at = tenax.now() + interval '2 seconds'"
        )
        await analyze(connection)
        explaining = Explaining(connection)
        await explaining.fetch(sql("next_wake"), [], SERVER_QUEUE, 5.0)
    assert rows_read(explaining.reading("item")) <= 10


async def test_the_row_has_few_columns(database_url):
    async with connected(database_url) as connection:
        columns = await connection.fetch(
            "select from information_schema.columns where table_schema = 'tenax' and table_name = 'item'"
        )
    assert len(columns) <= 35, "up to 40 have a header of the same size"


@pytest.mark.parametrize(
    ("broken", "constraint"),
    [
        ("state = 'leased', expires_at = tenax.now()", "item_lease"),
        ("state = 'leased', lease_token = gen_random_uuid()", "item_end"),
        ("lease_token = gen_random_uuid()", "item_lease"),
        ("state = 'held'", "item_end"),
        ("state = 'accepted', expires_at = tenax.now()", "item_wait"),
        ("state = 'accepted', awaiting = 'sleep'", "item_end"),
        ("state = 'accepted', awaiting = 'callback'", "item_end"),
        ("stopped_by = 'limit'", "item_limit"),
    ],
)
async def test_an_item_that_nothing_would_wake_cannot_be_stored(database_url, broken, constraint):
    async with connected(database_url) as connection:
        await connection.execute(_WAITING, True)
        await connection.execute("update tenax.item set state = 'queued'")
        with pytest.raises(asyncpg.CheckViolationError, match=f'"{constraint}"'):
            await connection.execute(f"update tenax.item set {broken}")
