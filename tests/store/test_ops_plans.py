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
insert into tenax.dead_letter
select n, n, 'w', 's', null, false, (array['open', 'recovered', 'discarded'])[n % 3 + 1], false, 'attempts_exhausted', 'transient', 'r', 'm', 'f',
       1, 1, now() - n * interval '1 minute', now() - n * interval '1 minute', now(), 'note', 'me' from generate_series(1, 20000) as n;
insert into tenax.attempt_minute (minute, workflow, step, outcome, class, reason, attempt, after_class, after_reason, n, seconds, waited)
select date_trunc('minute', now() - n * interval '1 minute'), 'w', 's', 'succeeded', '', '', 1, '', '', 1, 0, 0 from generate_series(1, 20000) as n;
vacuum analyze"""
BY_TIME = {
    "events": ("at", "_at_idx"),
    "attempts": ("started_at", "_at_idx"),
    "execution": ("created", "_at_idx"),
    "retry_chain": ("created", "_at_idx"),
    "queue": ("updated_at", "dead_letter_"),
    "dead_letters": ("last_at", "dead_letter_"),
    "retry_stats": ("minute", "attempt_minute_pkey"),
}
"""The views over history, each with the column by which it is filtered by time, and the index that serves it. Two indexes
of dead letters end with the time, and either may serve it."""


@pytest.fixture
def filled(any_database_url: str) -> AbstractAsyncContextManager[asyncpg.Connection]:
    return connected(any_database_url, asyncpg.connect)


async def plan(connection: asyncpg.Connection, query: str) -> str:
    return "\n".join(row[0] for row in await connection.fetch(f"explain {query}"))


def scanned(text: str) -> bool:
    """Tells whether a month of the log with rows, or another table of history, is read from its beginning."""
    return any(
        re.search(r"Seq Scan on (log_|dead_letter|attempt_minute)", line) and " rows=1 " not in line
        for line in text.splitlines()
    )


async def test_a_filter_of_time_or_execution_reaches_an_index(filled):
    for statement in FILL.split(";\n"):
        await filled.execute(statement)
    for view, (column, index) in BY_TIME.items():
        recent = f"select v from ops.{view} v where v.{column} > now() - interval '1 hour'"
        by_time = await plan(filled, recent)
        assert index in by_time, by_time
        assert not scanned(by_time), by_time
        if view != "retry_stats":
            by_execution = await plan(filled, f"select v from ops.{view} v where v.execution_id = 7")
            assert "(execution_id = 7)" in by_execution, by_execution
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
