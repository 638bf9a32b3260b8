"""Filters of execution and of time reach the log through the views of `ops`, and each execution is read once."""

from __future__ import annotations

import re
from contextlib import AbstractAsyncContextManager

import asyncpg
import pytest
from support.connections import connected

pytestmark = pytest.mark.odd_log

FILL = """
insert into tenax.workflow (hash, name, body) values ('w', 'w', '{"steps": []}');
insert into tenax.plan (hash, workflow_id, policies) values ('p', 1, '{}');
insert into tenax.execution (plan_id, created_at, state, finished_at)
select 1, now() - n * interval '1 minute', 'completed', now() from generate_series(1, 20000) as n;
insert into tenax.log (execution_id, at, events)
select n, now() - n * interval '1 minute',
       format('[{"type":"action_%s","step":"s%s","attempt":1,"data":{"worker":null,"retry":{"max_attempts":1}}}]', what, n)
  from generate_series(1, 20000) as n, unnest(array['started', 'completed']) as what;
vacuum analyze"""
BY_TIME = {
    "events": "at", "attempts": "started_at", "execution": "created", "retry_chain": "created", "queue": "updated_at",
    "retry_stats": "minute",
}  # fmt: skip


@pytest.fixture
def filled(any_database_url: str) -> AbstractAsyncContextManager[asyncpg.Connection]:
    return connected(any_database_url, asyncpg.connect)


async def plan(connection: asyncpg.Connection, query: str) -> str:
    return "\n".join(row[0] for row in await connection.fetch(f"explain {query}"))


def scanned(text: str) -> bool:
    """Tells whether a month of the log with rows is read from its beginning."""
    return any("Seq Scan on log_" in line and " rows=1 " not in line for line in text.splitlines())


async def test_a_filter_of_time_or_execution_reaches_the_indexes_of_the_log(filled):
    for statement in FILL.split(";\n"):
        await filled.execute(statement)
    for view, column in BY_TIME.items():
        recent = f"select v from ops.{view} v where v.{column} > now() - interval '1 hour'"
        by_time = await plan(filled, recent)
        assert "_at_idx" in by_time, by_time
        assert not scanned(by_time), by_time
        if view != "retry_stats":
            by_execution = await plan(filled, f"select v from ops.{view} v where v.execution_id = 7")
            assert "Index Cond: (execution_id = 7)" in by_execution, by_execution
            assert not scanned(by_execution), by_execution


async def test_the_events_of_an_execution_are_read_once_for_its_attempts(filled):
    for statement in FILL.split(";\n"):
        await filled.execute(statement)
    for condition in ("execution_id = 7", "created > now() - interval '1 hour'"):
        text = await plan(filled, f"select v from ops.execution v where {condition}")
        assert re.search(r"Cache Key: x(_\d)?\.id, l\.tableoid", text), text
    # What needs nothing of other events does not read them.
    counted = await plan(
        filled, "select count(distinct id) from ops.execution where created > now() - interval '1 hour'"
    )
    assert counted.count("jsonb_array_elements") == 1, counted
