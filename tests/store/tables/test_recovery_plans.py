"""Tests that the cost of recovery at start-up grows with the open executions, not with the ended ones."""

from __future__ import annotations

import json

from support.connections import connected
from support.statements.query_plans import nodes, rows_read

from tenax.store.connect import Connection
from tenax.store.statements import sql
from tenax.store.tables.executions import find_open_executions

FINISHED, ACTIVE, BATCH = 50_000, 200, 500
_EXECUTIONS = """
insert into tenax.execution (plan_id, state, created_at, finished_at)
select 1, case when n % $2 = 0 then 'running' else 'completed' end, tenax.now(),
       case when n % $2 <> 0 then tenax.now() end
  from generate_series(1, $1) as n
"""
_STEPS = """
insert into tenax.step (execution_id, step, state)
select e.id, s, 'completed' from tenax.execution e, unnest(array['a', 'b']) as s
"""


async def fill(connection: Connection) -> None:
    """Open executions scattered among ended ones, each with two steps."""
    every = (FINISHED + ACTIVE) // ACTIVE
    await connection.execute(_EXECUTIONS, every * ACTIVE, every)
    await connection.execute(_STEPS)
    await connection.execute("vacuum analyze tenax.execution, tenax.step")


async def test_recovery_reads_open_executions_and_their_steps_by_their_indexes(database_url):
    """Each of the two looks at an execution's steps reads both of them."""
    async with connected(database_url) as connection:
        await fill(connection)
        assert len(await find_open_executions(connection, 0, BATCH)) == ACTIVE
        statement = f"explain (analyze, format json) {sql('find_open_executions')}"
        text = await connection.fetchval(statement, 0, BATCH)
    read = [node for node in nodes(json.loads(text)[0]["Plan"]) if "Relation Name" in node]
    of_executions = [n for n in read if n["Relation Name"] == "execution"]
    assert [n.get("Index Name") for n in of_executions] == ["execution_active"]
    assert rows_read(of_executions) == ACTIVE
    of_steps = [n for n in read if n["Relation Name"] == "step"]
    assert of_steps
    assert all("Index" in n["Node Type"] for n in of_steps), [n["Node Type"] for n in of_steps]
    assert rows_read(of_steps) <= ACTIVE * 2 * 2
