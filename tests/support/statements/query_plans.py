"""Explains how PostgreSQL runs our statements, on tables of some size."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator
from typing import Any

from tenax.store.connect import Connection

_ITEMS = """
insert into tenax.item (execution_id, plan_id, step, state, queue, runtime, priority, available_at, created_at, lane, stopped_by,
                        limits, timeout, labels, worker, lease_token, expires_at, started_at, suspect)
select n, 1, 's', $2, 'default', 'python', $3 + n % $4, tenax.now() + make_interval(secs => $5 - n / 1000.0), tenax.now(),
       case when $6 then 1 + n % 20 else 0 end, case when $7 then 'limit' end,
       case when $7 then row('g' || n % 10, 1, null, null)::tenax.limits end, 300,
       case when n % 7 = 0 then '{"zone": "a"}'::jsonb end, case when $2 = 'leased' then 'w' || n % 50 end,
       case when $2 = 'leased' then gen_random_uuid() end, case when $2 = 'leased' then tenax.now() end,
       case when $2 = 'leased' then tenax.now() end, $2 = 'leased' and n % 100 = 0
  from generate_series(1, $1) as n
"""
_EXECUTIONS = """
insert into tenax.execution (plan_id, state, open_steps, created_at, finished_at, deadline_at)
select 1, case when n <= $1 then 'running' else 'completed' end, 1 + n % 2, tenax.now(), case when n > $1 then tenax.now() end,
       case when n % 10 = 0 then tenax.now() + interval '1 hour' end
  from generate_series(1, $2) as n
"""
_STEPS = """
insert into tenax.step (execution_id, step, state, waiting_for)
select e.id, s, 'pending', 1 from tenax.execution e, unnest(array['a', 'b']) as s
"""


async def fill_items(connection: Connection) -> None:
    """Inserts 100,000 ready items, 50,000 retries that are not due, 20 fan-outs of 1,000, 5,000 items at their limits, and 2,000 leased."""
    await connection.execute(_ITEMS, 100_000, "queued", 0, 10, 0.0, False, False)
    await connection.execute(_ITEMS, 50_000, "retrying", 5, 1, 3600.0, False, False)
    await connection.execute(_ITEMS, 20_000, "queued", 5, 2, 0.0, True, False)
    await connection.execute(_ITEMS, 5_000, "queued", 5, 1, 0.0, False, True)
    await connection.execute(_ITEMS, 2_000, "leased", 5, 1, 0.0, False, False)


async def fill_executions(connection: Connection) -> None:
    """Inserts 5,000 executions that run, with one or two steps open, and 45,000 that have ended. Each has two steps."""
    await connection.execute(_EXECUTIONS, 5_000, 50_000)
    await connection.execute(_STEPS)


async def analyze(connection: Connection) -> None:
    await connection.execute("vacuum analyze tenax.item, tenax.execution, tenax.step")


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)


class Explaining:
    """Replaces a connection for the store. Each statement is run and rolled back, and only its plan is kept.

    A statement is prepared once for a session, as the driver does, so that the session plans it as usual: each time, or once for all.
    """

    def __init__(self, connection: Connection, prepared: dict[str, str] | None = None) -> None:
        self._connection = connection
        self._prepared = {} if prepared is None else prepared
        """The name of a statement by its text, shared by all statements of one connection."""
        self.plans: list[dict[str, Any]] = []

    async def fetch(self, statement: str, *arguments: Any) -> list[Any]:
        name = self._prepared.get(statement)
        if name is None:
            name = self._prepared[statement] = f"s{uuid.uuid4().hex}"
            await self._connection.execute(f"prepare {name} as {statement}")
        given = f"({', '.join(map(_literal, arguments))})" if arguments else ""
        undone = self._connection.transaction()
        await undone.start()
        try:
            text = await self._connection.fetchval(
                f"explain (analyze, timing off, format json) execute {name}{given}"
            )
        finally:
            await undone.rollback()
        self.plans.append(json.loads(text)[0]["Plan"])
        return []

    execute = fetch

    async def fetchval(self, statement: str, *arguments: Any) -> list[Any]:
        """Returns an empty array, since the statement is rolled back."""
        return await self.fetch(statement, *arguments)

    async def fetchrow(self, statement: str, *arguments: Any) -> None:
        await self.fetch(statement, *arguments)

    @property
    def nodes(self) -> list[dict[str, Any]]:
        return [node for plan in self.plans for node in nodes(plan)]

    def reading(self, *tables: str) -> list[dict[str, Any]]:
        """Returns the nodes of plans that search rows of these tables."""
        return [n for n in self.nodes if n.get("Relation Name") in tables and n["Node Type"] != "ModifyTable"]


def rows_read(found: Iterable[dict[str, Any]]) -> float:
    """Returns the number of rows that were read, including rows that did not match."""
    in_vain = ("Rows Removed by Filter", "Rows Removed by Join Filter", "Rows Removed by Index Recheck")
    return sum(
        (n["Actual Rows"] + sum(n.get(kind, 0) for kind in in_vain)) * n["Actual Loops"] for n in found
    )


def _literal(value: Any) -> str:
    if value is None:
        return "null"
    text = str(value)
    if isinstance(value, list | tuple | range):
        text = "{" + ",".join("NULL" if one is None else _quoted(str(one)) for one in value) + "}"
    return "'" + text.replace("'", "''") + "'"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
