"""Tests migrations: in order, once each, never edited, and leading to schema.sql."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from importlib.resources import files
from pathlib import Path

import asyncpg
import pytest
from support.connections import connected

from tenax.errors import SchemaOutdated, Unreachable
from tenax.store import migrate as migrate_module
from tenax.store.migrate import load_migrations, migrate, require_current, status


@pytest.fixture
def connection(empty_database_url: str) -> AbstractAsyncContextManager[asyncpg.Connection]:
    return connected(empty_database_url, asyncpg.connect)


@pytest.fixture
def migrated(any_database_url: str) -> AbstractAsyncContextManager[asyncpg.Connection]:
    return connected(any_database_url, asyncpg.connect)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "0001_first.sql").write_text(
        "create table tenax.first (id int);\ninsert into tenax.first values (1);"
    )
    (tmp_path / "0002_second.sql").write_text("alter table tenax.first add note text;")
    return tmp_path


async def test_migrations_are_applied_in_order_and_once(connection, folder):
    assert await migrate(connection, folder) == ["0001_first", "0002_second"]
    assert await migrate(connection, folder) == []
    assert await connection.fetchval("select count(*) from tenax.first") == 1
    rows = await connection.fetch(
        "select version, name, length(checksum) as size, applied_at from tenax.schema_migration order by 1"
    )
    assert [(row["version"], row["name"], row["size"]) for row in rows] == [
        (1, "0001_first", 64),
        (2, "0002_second", 64),
    ]


async def test_status_changes_nothing(connection, folder):
    before = await status(connection, folder)
    assert (before.current, before.latest, before.pending) == (0, 2, ("0001_first", "0002_second"))
    assert await connection.fetchval("select to_regnamespace('tenax')") is None
    await migrate(connection, folder)
    after = await status(connection, folder)
    assert (after.current, after.latest, after.pending, after.unknown, after.edited) == (2, 2, (), (), ())


async def test_an_edited_migration_is_refused(connection, folder):
    await migrate(connection, folder)
    (folder / "0001_first.sql").write_text("create table tenax.first (id bigint);")
    (folder / "0003_third.sql").write_text("create table tenax.third ();")
    for call in (migrate, require_current):
        with pytest.raises(SchemaOutdated, match="has 0001_first with another content"):
            await call(connection, folder)
    assert await connection.fetchval("select to_regclass('tenax.third')") is None


async def test_a_database_newer_than_the_code_is_refused(connection, folder):
    await migrate(connection, folder)
    (folder / "0002_second.sql").unlink()
    for call in (migrate, require_current):
        with pytest.raises(SchemaOutdated, match="newer than this version of Tenax: it has 0002_second"):
            await call(connection, folder)


async def test_an_old_schema_says_what_to_run(connection, folder):
    with pytest.raises(
        SchemaOutdated, match="schema is empty, and this version of Tenax needs version 2"
    ) as caught:
        await require_current(connection, folder)
    assert (caught.value.remedy, caught.value.exit_code) == ("run: tenax db migrate", 3)
    await migrate(connection, folder)
    await require_current(connection, folder)
    (folder / "0003_third.sql").write_text("select 1;")
    with pytest.raises(SchemaOutdated, match="at version 2, and this version of Tenax needs version 3"):
        await require_current(connection, folder)


async def test_a_failing_migration_leaves_nothing_of_itself(connection, folder):
    (folder / "0002_second.sql").write_text("create table tenax.second (); select 1 / 0;")
    with pytest.raises(
        SchemaOutdated, match="0002_second failed, and nothing of it was kept: division by zero"
    ):
        await migrate(connection, folder)
    assert await connection.fetchval("select to_regclass('tenax.second')") is None
    assert (await status(connection, folder)).current == 1
    (folder / "0002_second.sql").write_text("create table tenax.second ();")
    assert await migrate(connection, folder) == ["0002_second"]


async def test_many_at_once_apply_each_migration_once(empty_database_url, folder):
    async def one() -> list[str]:
        async with connected(empty_database_url, asyncpg.connect) as connection:
            return await migrate(connection, folder)

    applied = await asyncio.gather(*(one() for _ in range(5)))
    assert sorted(applied) == [[], [], [], [], ["0001_first", "0002_second"]]


@pytest.mark.parametrize("limits", [{}, {"statement_timeout": "600ms", "lock_timeout": "300ms"}])
async def test_one_that_waits_too_long_for_another_says_so(
    connection, empty_database_url, folder, monkeypatch, limits
):
    # Longer than the session's own limits: they must not cut the wait short. They are no tighter, or a busy machine would pass them.
    monkeypatch.setattr(migrate_module, "_LOCK_WAIT", "900ms")
    await connection.execute("select pg_advisory_lock($1)", migrate_module._ADVISORY_LOCK)
    async with connected(empty_database_url, asyncpg.connect, server_settings=limits) as waiting:
        with pytest.raises(Unreachable, match="another process has been migrating this database for 900ms"):
            await migrate(waiting, folder)
        for name, value in limits.items():
            assert await waiting.fetchval("select current_setting($1)", name) == value
        await connection.execute("select pg_advisory_unlock_all()")
        assert await migrate(waiting, folder) == ["0001_first", "0002_second"]


async def test_a_role_that_may_not_create_is_told_what_to_grant(connection, folder):
    role = f"weak_{await connection.fetchval('select current_database()')}"
    await connection.execute(f"create role {role}")
    try:
        await connection.execute(f"set role {role}")
        with pytest.raises(Unreachable, match=f"role {role} may not do what 0001_first needs"):
            await migrate(connection, folder)
    finally:
        await connection.execute(f"reset role; drop role {role}")


@pytest.mark.parametrize(
    "name", ["0003.sql", "3_third.sql", "0003_Third.sql", "0004_gap.sql", "0002_twice.sql"]
)
def test_names_that_are_not_a_sequence_are_refused(folder, name):
    (folder / name).write_text("select 1;")
    with pytest.raises(ValueError, match="migration"):
        load_migrations(folder)


CATALOG = {
    "relations": """
        select c.relname, c.relkind, c.relpersistence, c.reloptions, pg_get_viewdef(c.oid) as view, pg_get_partkeydef(c.oid) as partition
        from pg_class c where c.relnamespace = any($1) and c.relkind <> 'i'""",
    "columns": """
        select c.relname, a.attname, row_number() over (partition by c.oid order by a.attnum) as place, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull, a.attidentity,
               a.attgenerated, a.attcollation::regcollation::text, pg_get_expr(d.adbin, d.adrelid) as default_value
        from pg_attribute a join pg_class c on c.oid = a.attrelid
        left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
        where c.relnamespace = any($1) and a.attnum > 0 and not a.attisdropped and c.relkind <> 'i'""",
    "indexes": "select pg_get_indexdef(i.indexrelid) as definition from pg_index i join pg_class c on c.oid = i.indrelid where c.relnamespace = any($1)",
    "constraints": "select conrelid::regclass::text, conname, pg_get_constraintdef(oid) as definition, convalidated from pg_constraint where connamespace = any($1)",
    "functions": "select pg_get_functiondef(oid) as definition from pg_proc where pronamespace = any($1) and prokind in ('f', 'p')",
    "triggers": "select pg_get_triggerdef(t.oid) as definition from pg_trigger t join pg_class c on c.oid = t.tgrelid where c.relnamespace = any($1) and not t.tgisinternal",
    "sequences": "select c.relname, s.seqtypid::regtype::text, s.seqstart, s.seqincrement, s.seqmax, s.seqmin, s.seqcache, s.seqcycle from pg_sequence s join pg_class c on c.oid = s.seqrelid where c.relnamespace = any($1)",
    "comments": "select c.relname, d.objsubid, d.description from pg_description d join pg_class c on c.oid = d.objoid and d.classoid = 'pg_class'::regclass where c.relnamespace = any($1)",
    "functions' comments and rights": "select p.proname, d.description, p.proacl::text from pg_proc p left join pg_description d on d.objoid = p.oid and d.classoid = 'pg_proc'::regclass where p.pronamespace = any($1)",
    "types": "select t.typname, t.typtype, (select array_agg(e.enumlabel::text order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid) as labels from pg_type t where t.typnamespace = any($1) and t.typtype in ('e', 'd')",
}  # fmt: skip


async def described(connection: asyncpg.Connection) -> dict[str, list[str]]:
    """Everything that the catalog knows of our schemas. The columns' order too: `insert` without names must mean the same."""
    await connection.execute("drop table if exists tenax.schema_migration")
    names = await connection.fetch(
        "select oid, nspname from pg_namespace where nspname !~ '^pg_' and nspname not in ('information_schema')"
    )
    oids = [row["oid"] for row in names]
    found = {
        what: sorted(str(tuple(row)) for row in await connection.fetch(query, oids))
        for what, query in CATALOG.items()
    }
    return {"schemas": sorted(row["nspname"] for row in names), **found}


async def test_schema_sql_is_where_the_migrations_lead(connection, migrated):
    await connection.execute(files("tenax").joinpath("sql", "schema.sql").read_text("utf-8"))
    by_file, by_migrations = await described(connection), await described(migrated)
    assert "tenax" in by_file["schemas"]
    assert by_file["columns"]
    for what in by_file:
        assert by_file[what] == by_migrations[what], what


async def test_the_comparison_sees_a_difference(migrated):
    before = await described(migrated)
    await migrated.execute("create index sneaky on tenax.execution (id) where id > 7")
    after = await described(migrated)
    assert len(after["indexes"]) == len(before["indexes"]) + 1


async def test_what_was_counted_without_the_new_columns_is_counted_again(connection, tmp_path):
    await migrate(connection, _up_to(tmp_path, 13))
    await connection.execute(COUNTED)
    await migrate(connection)
    assert await connection.fetchval("select count(*) from tenax.attempt_minute") == 0
    assert await connection.fetchval("select count(*) from tenax.metric_total") == 0
    assert await connection.fetchrow("select counted, open, counted_at from tenax.roll_up") == (0, [], None)


async def test_the_counts_of_a_restored_log_stay(connection, tmp_path):
    """Its rows have the transactions of another cluster, so they cannot be counted again."""
    await migrate(connection, _up_to(tmp_path, 13))
    await connection.execute(COUNTED + "; update tenax.roll_up set floor = 640")
    await migrate(connection)
    assert await connection.fetchval("select sum(n) from tenax.attempt_minute") == 5
    assert await connection.fetchrow("select counted, floor from tenax.roll_up") == (700, 640)


async def test_a_role_that_reads_the_views_reads_those_of_an_update(connection, tmp_path):
    role = f"reader_{await connection.fetchval('select current_database()')}"
    await migrate(connection, _up_to(tmp_path, 13))
    await connection.execute(f"create role {role}")
    try:
        await connection.execute(
            f"grant usage on schema ops to {role}; grant select on all tables in schema ops to {role}"
        )
        await migrate(connection)
        await connection.execute(f"set role {role}")
        for view in ("dead_letters", "queue", "retry_stats"):
            assert await connection.fetch(f"select * from ops.{view}") == []
    finally:
        await connection.execute(f"reset role; drop owned by {role}; drop role {role}")


COUNTED = """
insert into tenax.attempt_minute values (now(), 'w', 's', 'succeeded', '', '', 1, '', '', 5, 1, 0);
insert into tenax.metric_total values ('attempts', '{s,succeeded,""}', 5);
update tenax.roll_up set counted = 700, open = '{690}', counted_at = now()"""


def _up_to(folder: Path, version: int) -> Path:
    """Writes the first migrations into a folder."""
    for migration in load_migrations()[:version]:
        (folder / f"{migration.name}.sql").write_text(migration.sql)
    return folder
