"""What start-up recovery costs grows with the open executions, not with those that have ended."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tenax.store.connect import Connection, connect
from tenax.store.executions import find_open_executions
from tenax.store.statements import sql

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


def reads(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The nodes of a plan that read a table."""
    if "Relation Name" in plan:
        yield plan
    for below in plan.get("Plans", ()):
        yield from reads(below)


def rows_read(found: list[dict[str, Any]]) -> float:
    return sum((n["Actual Rows"] + n.get("Rows Removed by Filter", 0)) * n["Actual Loops"] for n in found)


@pytest.fixture
def recovery(database_url: str) -> tuple[int, list[dict[str, Any]]]:
    """How many open executions there are, and what reading them read."""

    async def look() -> tuple[int, list[dict[str, Any]]]:
        connection = await connect(database_url)
        try:
            await fill(connection)
            found = await find_open_executions(connection, 0, BATCH)
            statement = f"explain (analyze, format json) {sql('find_open_executions')}"
            text = await connection.fetchval(statement, 0, BATCH)
            return len(found), list(reads(json.loads(text)[0]["Plan"]))
        finally:
            await connection.close()

    return asyncio.run(look())


def test_recovery_reads_open_executions_by_their_index(recovery):
    found, nodes = recovery
    assert found == ACTIVE
    of_executions = [n for n in nodes if n["Relation Name"] == "execution"]
    assert [n.get("Index Name") for n in of_executions] == ["execution_active"]
    assert rows_read(of_executions) == ACTIVE


def test_recovery_reads_no_steps_but_those_of_open_executions(recovery):
    """Each of the two looks at an execution's steps reads both of them."""
    _, nodes = recovery
    of_steps = [n for n in nodes if n["Relation Name"] == "step"]
    assert of_steps
    assert all("Index" in n["Node Type"] for n in of_steps), [n["Node Type"] for n in of_steps]
    assert rows_read(of_steps) <= ACTIVE * 2 * 2
