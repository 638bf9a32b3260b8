"""docs/sql.md: the published columns are there, the examples run, and the role that it describes may read and nothing else."""

from __future__ import annotations

import re
from typing import Any

import asyncpg
import pytest
from generate import ROOT
from generators.ops_columns import COLUMNS
from generators.sql import comments
from support.connections import connected

BLOCKS = re.findall(r"```sql\n(.*?)```", (ROOT / "docs/sql.md").read_text("utf-8"), re.DOTALL)
EXAMPLES = [block for block in BLOCKS if block.lower().startswith("select")]
[ROLE] = [block for block in BLOCKS if block.startswith("create role")]
_FOUND = """
select c.relname as view, a.attname as name, format_type(a.atttypid, a.atttypmod) as type, col_description(c.oid, a.attnum) as comment
  from pg_attribute a join pg_class c on c.oid = a.attrelid
 where c.relnamespace = 'ops'::regnamespace and a.attnum > 0
 order by c.relname, a.attnum
"""


async def run(url: str, *statements: str) -> list[Any]:
    async with connected(url, asyncpg.connect) as connection:
        return [await connection.fetch(statement) for statement in statements]


async def test_the_columns_are_those_that_were_published(database_url: str) -> None:
    [rows] = await run(database_url, _FOUND)
    found: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        found.setdefault(row["view"], []).append((row["name"], row["type"]))
    assert found == {view: list(columns.items()) for view, columns in COLUMNS.items()}


async def test_every_view_column_and_function_is_described(database_url: str) -> None:
    rows, functions = await run(
        database_url,
        _FOUND,
        "select oid::regprocedure::text as name from pg_proc where pronamespace = 'ops'::regnamespace",
    )
    assert {f"{row['view']}.{row['name']}": row["comment"] for row in rows} == comments("column")
    assert set(comments("view")) == set(COLUMNS)
    assert {row["name"].removeprefix("ops.").replace(",", ", ") for row in functions} == set(
        comments("function")
    )


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
async def test_the_examples_run(example: str, database_url: str) -> None:
    assert await run(database_url, example) == [[]]


async def test_the_role_of_the_page_reads_the_views_and_nothing_else(own_database_url: str) -> None:
    role = f"reader_{own_database_url.rpartition('/')[2].partition('?')[0]}"
    async with connected(own_database_url, asyncpg.connect) as connection:
        await connection.execute(ROLE.replace("tenax_reader", role))
        try:
            await connection.execute(f"set role {role}; set search_path = ops")
            for view in COLUMNS:
                assert await connection.fetch(f"select * from {view}") == []
            assert await connection.fetch("select * from get_step_readiness_status_batch(array[1])") == []
            assert await connection.fetchval("select is_execution_retriable(1)") is False
            assert await connection.fetchval("select get_worker_queue_depth(1)") == 0
            assert await connection.fetchval("select execution_of(1)") is None
            await connection.execute("reset role; create view ops.later as select 1 as one")
            await connection.execute(f"set role {role}; set search_path = ops")
            assert await connection.fetchval("select one from later") == 1
            for table in ("execution", "attempt", "token"):
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await connection.execute(f"select * from tenax.{table}")
            for view in COLUMNS:
                with pytest.raises(
                    (asyncpg.ObjectNotInPrerequisiteStateError, asyncpg.InsufficientPrivilegeError)
                ):
                    await connection.execute(f"delete from {view}")
        finally:
            await connection.execute(f"reset role; drop owned by {role}; drop role {role}")


async def test_without_the_grants_a_role_reads_nothing(own_database_url: str) -> None:
    role = f"stranger_{own_database_url.rpartition('/')[2].partition('?')[0]}"
    async with connected(own_database_url, asyncpg.connect) as connection:
        await connection.execute(f"create role {role}")
        try:
            await connection.execute(f"set role {role}")
            for statement in ("select * from ops.queue", "select ops.is_execution_retriable(1)"):
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await connection.execute(statement)
        finally:
            await connection.execute(f"reset role; drop role {role}")
