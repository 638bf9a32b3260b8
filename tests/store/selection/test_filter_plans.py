"""Filters with an index read in proportion to what they select."""

from __future__ import annotations

from typing import Any

import pytest
from support.connections import connected
from support.statements.query_plans import Explaining, rows_read

from tenax.model.filters.parse import parse_filter
from tenax.store.selection.bulk_jobs import MAX_EXECUTIONS
from tenax.store.selection.conditions import with_conditions
from tenax.store.statements import sql

_FILL = """
insert into tenax.workflow (hash, name, body) values ('a', 'sync', '{}'), ('b', 'rare', '{}');
insert into tenax.plan (hash, workflow_id, policies) select 'p' || id, id, '{}' from tenax.workflow order by id;
insert into tenax.execution (plan_id, state, open_steps, submit_key, input, failure, created_at, finished_at)
select case when n % 50000 = 0 then 2 else 1 end,
       case when n % 1000 = 0 then 'failed' when n % 5000 = 1 then 'running' else 'completed' end, 0,
       case when n % 3 = 0 then 'key ' || n end, jsonb_build_object('customer', n % 1000),
       case when n % 1000 = 0 then '{"step": "s", "class": "transient", "reason": "http_503", "message": "503"}'::jsonb end,
       now() - make_interval(secs => 200000 - n), case when n % 5000 <> 1 then now() end
  from generate_series(1, 200000) as n;
insert into tenax.bulk_job (action, filter, reason, actor, total, created_at) values ('cancel', '', '', '', 0, now());
insert into tenax.item (execution_id, plan_id, step, state, queue, runtime, priority, available_at, created_at)
select id, plan_id, 's', 'queued', case when id % 2 = 0 then 'slow' else 'default' end, 'python', 5, now(), now()
  from tenax.execution where state = 'running'
"""
BOUNDED = {
    "status=failed": 500,
    "status=failed,cancelled class=transient": 500,
    "status=running": 500,
    "status=running,paused workflow=rare": 500,
    'key="key 3","key 6"': 50,
    "since=30m": 25_000,
    "since=40h until=39h": 25_000,
    "queue=default": 2_000,
    "worker=w1": 2_000,
    "label=gpu": 2_000,
    "status=failed workflow=rare": 2_000,
    "status=failed text=503": 500,
    "status=failed input.customer=0": 500,
}  # fmt: skip
FROZEN = {"status=failed": 500, "since=30m": 25_000, "since=40h until=39h": 25_000, "queue=default": 2_000}
"""The filters of bulk jobs, which find all of their executions."""


@pytest.mark.one_postgres
async def test_filters_with_an_index_read_little(own_database_url: str) -> None:
    read: dict[str, float] = {}
    async with connected(own_database_url) as connection:
        await connection.execute(_FILL)
        await connection.execute("vacuum analyze tenax.execution, tenax.item, tenax.plan, tenax.workflow")
        now = await connection.fetchval("select now()")
        for text in BOUNDED:
            explaining: Any = Explaining(connection)
            statement, arguments = with_conditions(
                sql("list_executions"), parse_filter(text).anchored(now), None, 50, None
            )
            await explaining.fetch(statement, *arguments)
            read[text] = rows_read(explaining.reading("execution"))
        for text in FROZEN:
            explaining = Explaining(connection)
            statement, arguments = with_conditions(
                sql("freeze_executions"), parse_filter(text).anchored(now), 1, MAX_EXECUTIONS
            )
            await explaining.fetch(statement, *arguments)
            read[f"frozen {text}"] = rows_read(explaining.reading("execution"))
    most = {**BOUNDED, **{f"frozen {text}": rows for text, rows in FROZEN.items()}}
    assert {text: rows for text, rows in read.items() if rows > most[text]} == {}
