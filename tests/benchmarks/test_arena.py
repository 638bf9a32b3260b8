"""Tests how tables are prepared before the clock starts."""

from __future__ import annotations

import asyncio

from benchmarks.arena import settle

from tenax.store.connect import connect

TABLES = """
create table "Plain" (n integer);
create table only_added_to (n integer) with (autovacuum_vacuum_insert_threshold = -1);
insert into "Plain" select generate_series(1, 100);
insert into only_added_to select generate_series(1, 100);
"""
KNOWN = """
select relname as name, vacuum_count > 0 as vacuumed, analyze_count > 0 as analyzed
  from pg_stat_user_tables where relname in ('Plain', 'only_added_to')
"""


def test_tables_are_vacuumed_as_autovacuum_would_and_all_are_analyzed(database_url):
    async def settled():
        connection = await connect(database_url)
        try:
            await connection.execute(TABLES)
            await settle(connection)
            await connection.execute("select pg_stat_force_next_flush()")
            return await connection.fetch(KNOWN)
        finally:
            await connection.close()

    rows = asyncio.run(settled())
    found = {row["name"]: (row["vacuumed"], row["analyzed"]) for row in rows}
    assert found == {"Plain": (True, True), "only_added_to": (False, True)}
