"""Fills tables with copies of an execution that Tenax itself has run, with all of its rows.

The columns are read from the catalogue, so that the copies have all columns of the original.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.arena import settle

Say = Callable[[str], None]

_CHUNK = 100_000
_SECONDS = 600.0
"""Seconds that one statement may take. The limits of Tenax's own sessions are shorter."""
_IDS = {"execution": "tenax.execution_id", "item": "tenax.item_id", "log": "tenax.event_id"}
"""The tables whose rows have an id of their own, and the sequence that gives it."""
_ROOM = 32
"""The ids that a row of the log takes: as many as it may have events."""

_COLUMNS = """
select c.relname as "table", a.attname as "column", a.atttypid = 'timestamptz'::regtype as is_time
  from pg_class c join pg_attribute a on a.attrelid = c.oid
 where c.relnamespace = 'tenax'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
   and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and a.attidentity = ''
 order by c.relname, a.attnum
"""


async def multiply(connection: Any, execution_id: int, copies: int, *, apart: float, say: Say) -> range:
    """Copies an execution and returns the ids of the copies. Each copy is `apart` seconds older than the one before."""
    await connection.execute("set statement_timeout = 0")
    tables = await tables_of_executions(connection)
    last = await connection.fetchval("select nextval('tenax.execution_id')")
    for name, columns in tables.items():
        rows = await _multiply_table(connection, name, columns, execution_id, last, copies, apart)
        if rows:
            say(f"filled {name} with {rows:,} rows")
    await connection.execute("select setval('tenax.execution_id', $1)", last + copies)
    await settle(connection)
    return range(last + 1, last + copies + 1)


def has_ids(table: str) -> bool:
    """Returns whether a sequence gives the rows of a table their ids."""
    return table in _IDS


async def tables_of_executions(connection: Any) -> dict[str, dict[str, bool]]:
    """Returns each table with rows of an execution, with its columns and those that hold times."""
    found: dict[str, dict[str, bool]] = {}
    for row in await connection.fetch(_COLUMNS):
        found.setdefault(row["table"], {})[row["column"]] = row["is_time"]
    return {
        name: columns for name, columns in found.items() if name == "execution" or "execution_id" in columns
    }


async def _multiply_table(
    connection: Any,
    table: str,
    columns: Mapping[str, bool],
    execution_id: int,
    last: int,
    copies: int,
    apart: float,
) -> int:
    """Copies the rows of one table. Returns the number of rows made."""
    key = "id" if table == "execution" else "execution_id"
    rows, first, span = await _originals(connection, table, key, execution_id)
    if rows == 0:
        return 0
    changed = {
        name: f"o.{name} - make_interval(secs => n * {apart!r})"
        for name, is_time in columns.items()
        if is_time
    }
    changed[key] = f"{last} + n"
    if table in _IDS and table != "execution":
        base = await connection.fetchval("select nextval($1::text::regclass)", _IDS[table])
        changed["id"] = f"{base} + n * {span} + o.id - {first}"
    values = ", ".join(changed.get(name, f"o.{name}") for name in columns)
    statement = (
        f"insert into tenax.{table} ({', '.join(columns)}) select {values}"
        f" from generate_series($2::bigint, $3::bigint) as n"
        f" cross join lateral (select * from tenax.{table} where {key} = $1 order by 1) as o"
    )
    for start in range(1, copies + 1, _CHUNK):
        end = min(start + _CHUNK - 1, copies)
        await connection.execute(statement, execution_id, start, end, timeout=_SECONDS)
    if table in _IDS and table != "execution":
        await connection.execute(
            "select setval($1::text::regclass, $2)", _IDS[table], base + (copies + 2) * span
        )
    return rows * copies


async def _originals(connection: Any, table: str, key: str, execution_id: int) -> tuple[int, int, int]:
    """Returns the number of rows of the original, their first id, and the number of ids that they take."""
    if table not in _IDS:
        count = f"select count(*) from tenax.{table} where {key} = $1"
        return int(await connection.fetchval(count, execution_id)), 0, 0
    ids = f"select count(*), min(id), max(id) from tenax.{table} where {key} = $1"
    count, first, end = await connection.fetchrow(ids, execution_id)
    room = _ROOM if table == "log" else 1
    return int(count), first or 0, (end or 0) - (first or 0) + room
