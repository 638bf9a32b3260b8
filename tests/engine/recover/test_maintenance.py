"""Tests that the log's next partitions are made ahead, without delaying readers or writers of executions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
from structlog.testing import capture_logs
from support.hand import Hand

PATIENCE = 10.0
"""Seconds, far less than the 30 of a lock that is waited for."""
LAST = "log_' || to_char((date_trunc('month', statement_timestamp() at time zone 'UTC') + interval '3 months'), 'YYYYMM')"


async def last_partition(hand: Hand) -> str | None:
    [row] = await hand.sql(f"select to_regclass('tenax.{LAST})::text as name")
    return row["name"]


@asynccontextmanager
async def dumping(url: str) -> AsyncIterator[None]:
    """Reads every partition and keeps the locks until it ends, as a dump does."""
    other = await asyncpg.connect(url, server_settings={"application_name": "pg_dump"})
    try:
        async with other.transaction():
            await other.execute("lock table tenax.log_default in access share mode")
            yield
    finally:
        await other.close()


async def test_while_a_dump_holds_the_log_executions_are_read_and_written(hand, any_database_url):
    id_ = await hand.submit()
    name = await last_partition(hand)
    await hand.sql(f"drop table {name}")
    with capture_logs() as logs:
        async with dumping(any_database_url), asyncio.timeout(PATIENCE):
            sweeping = asyncio.create_task(hand.engine.sweep())
            while not sweeping.done():
                assert await hand.status(id_) == "running"
            await sweeping
            await hand.succeed(await hand.lease_one())
            assert await hand.status(id_) == "completed"
            hand = await hand.restarted()
            await hand.engine.sweep()
            await hand.engine.sweep()
    told = [line for line in logs if "partition" in line["event"]]
    assert len(told) == 2, "once by each server, however often it tries"
    assert all("tenax.log_default" in line["event"] and "pg_dump" in line["held_by"] for line in told)
    assert await last_partition(hand) is None
    await hand.engine.sweep()
    assert await last_partition(hand) == name


async def test_a_partition_that_was_attached_is_as_one_that_was_made_in_place(hand):
    """Writers and readers of the month find the same table, with its indexes and its defaults."""
    name = await last_partition(hand)
    await hand.sql(f"drop table {name}")
    await hand.engine.sweep()
    await hand.sql(
        f"insert into {name} (at, events) select statement_timestamp() + interval '92 days', '[]' limit 0"
    )
    indexes = await hand.sql("select from pg_index where indrelid = $1::text::regclass", name)
    assert len(indexes) == 4
    [row] = await hand.sql(
        "select count(*) as defaults from pg_attrdef where adrelid = $1::text::regclass", name
    )
    assert row["defaults"] == 2
