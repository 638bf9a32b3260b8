"""Tests the statement that picks ready items by shares: which items it leases, in which order, and which it skips."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from support.connections import connected

from tenax.policy.dispatch.claim_plan import Share
from tenax.store.connect import Connection
from tenax.store.dispatch.claims import LeaseTerms, WorkerGroup, lease_ready

GROUP = WorkerGroup(("q",), ("python",), '{"zone": "a"}', ("w1",), 10)
LANE = 7
_INSERT = """
insert into tenax.item (id, execution_id, plan_id, step, state, queue, runtime, priority, available_at, created_at, lane, timeout)
select id, id, 1, 's', state, 'q', 'python', 5, tenax.now() - make_interval(secs => 1000 - id), tenax.now(), lane, 300
  from unnest($1::bigint[], $2::text[], $3::bigint[]) as x (id, state, lane)
"""


def new(most: int, skip: int = 0) -> Share:
    return Share("q", 5, "queued", 0, skip, most)


def retries(most: int, skip: int = 0) -> Share:
    return Share("q", 5, "retrying", 0, skip, most)


def fan_out(most: int, skip: int = 0, lane: int = LANE) -> Share:
    return Share("q", 5, "", lane, skip, most)


@asynccontextmanager
async def filled(database_url: str) -> AsyncIterator[Connection]:
    """New items 10 to 14, retries 20 to 24, and a fan-out: 30 to 34, of which 33 is a retry. The lower number has waited longer."""
    rows = [(n, "queued", 0) for n in range(10, 15)] + [(n, "retrying", 0) for n in range(20, 25)]
    rows += [(n, "retrying" if n == 33 else "queued", LANE) for n in range(30, 35)]
    async with connected(database_url) as connection:
        await connection.execute(_INSERT, *map(list, zip(*rows, strict=True)))
        yield connection


@pytest.fixture
def connection(database_url: str) -> AbstractAsyncContextManager[Connection]:
    return filled(database_url)


async def lease(connection: Connection, shares: Sequence[Share], slots: int) -> list[int]:
    """Returns the items that were leased, by the number of their slot."""
    given = [("w1", str(uuid.uuid4())) for _ in range(slots)]
    items = await lease_ready(connection, GROUP, shares, given, LeaseTerms(30.0, 1.0))
    assert [item.grant for item in items] == [given[item.slot - 1][1] for item in items]
    return [item.id for item in sorted(items, key=lambda item: item.slot)]


@pytest.mark.parametrize(
    ("shares", "slots", "leased"),
    [
        ([new(3)], 10, [10, 11, 12]),
        ([new(10)], 2, [10, 11]),
        ([retries(2), new(10)], 4, [20, 21, 10, 11]),
        ([retries(2), new(10), retries(10, 2)], 9, [20, 21, 10, 11, 12, 13, 14, 22, 23]),
        ([retries(2), new(10), retries(10, 2)], 20, [20, 21, 10, 11, 12, 13, 14, 22, 23, 24]),
        ([new(3), new(10, 3)], 10, [10, 11, 12, 13, 14]),
        ([new(9), new(10, 9)], 10, [10, 11, 12, 13, 14]),
        ([fan_out(10)], 10, [30, 31, 32, 33, 34]),
        ([fan_out(1), new(10), fan_out(10, 1)], 8, [30, 10, 11, 12, 13, 14, 31, 32]),
        ([fan_out(10, lane=8), new(1)], 8, [10]),
    ],
)
async def test_items_are_leased_share_by_share_and_each_of_them_once(connection, shares, slots, leased):
    assert await lease(connection, shares, slots) == leased
    left = await connection.fetch(
        "select id from tenax.item where standing in ('ready', 'restricted') and id = any($1)", leased
    )
    assert left == []


@pytest.mark.parametrize(
    "change",
    [
        "available_at = tenax.now() + interval '1 s'",
        "runtime = 'http'",
        'labels = \'{"zone": "b"}\'',
        "queue = 'r'",
        "priority = 6",
        "stopped_by = 'pause'",
        "stopped_by = 'slot'",
        "stopped_by = 'limit', limits = row('a', 1, null, null)::tenax.limits",
    ],
)
async def test_what_is_not_due_or_not_for_this_group_is_passed_over(connection, change):
    await connection.execute(f"update tenax.item set {change} where id in (10, 30)")
    assert await lease(connection, [fan_out(2), new(2), fan_out(9, 2)], 6) == [31, 32, 11, 12, 33, 34]


@pytest.mark.parametrize(
    "change",
    [
        "refused_by = '{w2}'",
        "suspect = true",
        "limits = row('a', 1, null, null)::tenax.limits",
        "limits = row(null, null, 'k', 1)::tenax.limits",
    ],
)
async def test_nothing_is_leased_where_the_fan_out_needs_the_full_claim(connection, change):
    await connection.execute(f"update tenax.item set {change} where id = 31")
    assert await lease(connection, [fan_out(1), new(1)], 2) == [30, 10], "it did not come up"
    assert await lease(connection, [fan_out(1), new(2)], 3) == []
    assert await lease(connection, [new(2)], 2) == [11, 12]


async def test_unrestricted_items_are_not_those_that_someone_has_refused(connection):
    await connection.execute("update tenax.item set refused_by = '{w2}' where id in (10, 20)")
    assert await lease(connection, [new(1), retries(1)], 2) == [11, 21]


async def test_what_another_server_has_locked_is_passed_over(connection, database_url):
    async with connected(database_url) as other, other.transaction():
        await other.fetch("select id from tenax.item where id in (10, 30) for update")
        assert await lease(connection, [fan_out(2), new(2), fan_out(9, 2)], 5) == [31, 32, 11, 12, 33]
    assert await lease(connection, [fan_out(1), new(1)], 2) == [30, 10]
