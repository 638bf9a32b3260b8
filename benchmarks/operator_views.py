"""Measures the views of schema `ops` over a long history: filtered by one execution, and by the last hour."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.report import Figure, Mark

LOOK = Mark("at most", 1000)
_TIMES = {
    "events": "at",
    "attempts": "started_at",
    "execution": "created",
    "retry_chain": "created",
    "queue": "updated_at",
}
"""The views over the log, each with the column by which it is filtered by time. The dead items of `queue` are read with it."""
_BY_HOUR = "select count(v.*) from ops.{view} v where v.{column} > tenax.now() - interval '1 hour'"
_BY_EXECUTION = "select count(v.*) from ops.{view} v where v.execution_id = $1"
_EXECUTIONS = 20
"""Executions that are looked at in each view, picked at random."""

Looks = dict[str, list[float]]
"""The milliseconds of each look, by what was asked."""


async def pretend_real(connection: Any) -> None:
    """Makes the copies behave like a real history. PostgreSQL is told that the texts of the log are different, since it
    would read each of the copies' texts once. The first execution becomes the oldest one."""
    await connection.execute(
        "update tenax.execution set created_at = (select min(created_at) from tenax.execution)"
        " where id = (select min(id) from tenax.execution)"
    )
    partitions = await connection.fetch(
        "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'tenax.log'::regclass"
    )
    await connection.execute("alter table tenax.log alter column events set (n_distinct_inherited = -1)")
    for row in partitions:
        await connection.execute(f"alter table {row['name']} alter column events set (n_distinct = -1)")
    await connection.execute("analyze tenax.log")


async def look(connection: Any, ids: Sequence[int]) -> Looks:
    """Returns the milliseconds of a look at each view: by the last hour, and the longest by an execution."""
    took: Looks = {}
    for view, column in _TIMES.items():
        took[f"ops.{view} of the last hour"] = [
            await _milliseconds(connection, _BY_HOUR.format(view=view, column=column))
        ]
        by_execution = _BY_EXECUTION.format(view=view)
        took[f"ops.{view} of one execution, the worst of {_EXECUTIONS}"] = [
            max(
                [
                    await _milliseconds(connection, by_execution, one)
                    for one in random.sample(ids, _EXECUTIONS)
                ]
            )
        ]
    return took


async def _milliseconds(connection: Any, query: str, *arguments: Any) -> float:
    begun = time.perf_counter()
    found = await connection.fetchval(query, *arguments)
    took = 1000 * (time.perf_counter() - begun)
    assert found or "queue" in query, f"nothing was found: {query}"
    return took


def figures(measure: str, what: str, looks: Looks) -> list[Figure]:
    return [Figure(measure, f"{name} of {what}", "ms", tuple(values), LOOK) for name, values in looks.items()]
