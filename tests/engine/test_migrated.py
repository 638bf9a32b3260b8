"""Tests that all work of a migrated database of version 0.1 goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from support.connections import connected
from support.hand import Hand, hand_on
from support.recorded.version_0_1 import FILE
from support.slow_models.rolled_up import assert_equal_to_events, assert_view_equals_events

from tenax.engine.metrics.roll_up import RollUp
from tenax.model.attempt.outcome import Outcome
from tenax.model.wire import Report
from tenax.store.migrate import load_migrations, migrate

KEPT: dict[str, Any] = json.loads(FILE.read_text())
EXECUTIONS: dict[str, int] = KEPT["executions"]
LAST_OF_VERSION_0_1 = 5
COLUMNS = """
select array_agg(quote_ident(column_name)) from information_schema.columns
 where table_schema = 'tenax' and table_name = $1 and is_generated = 'NEVER' and column_name <> 'xid'
"""


async def fill_version_0_1(connection: Any, folder: Path) -> None:
    """Makes the database as version 0.1 left it."""
    for migration in load_migrations()[:LAST_OF_VERSION_0_1]:
        (folder / f"{migration.name}.sql").write_text(migration.sql)
    await migrate(connection, folder)
    await connection.execute("delete from tenax.service")
    for table, rows in KEPT["rows"].items():
        names = ", ".join(await connection.fetchval(COLUMNS, table))
        await connection.execute(
            f"insert into tenax.{table} ({names}) overriding system value "
            f"select {names} from jsonb_populate_recordset(null::tenax.{table}, $1)",
            json.dumps(rows),
        )
    for name in ("execution_id", "item_id", "event_id"):
        await connection.execute(f"select setval('tenax.{name}', 100000)")
    for name in ("workflow", "plan", "signal", "inbox"):
        await connection.execute(f"select setval(pg_get_serial_sequence('tenax.{name}', 'id'), 1000)")


@asynccontextmanager
async def _migrated(url: str, folder: Path) -> AsyncIterator[Hand]:
    (folder / "migrations").mkdir()
    async with connected(url) as connection:
        await fill_version_0_1(connection, folder / "migrations")
        await migrate(connection)
    at = datetime.fromisoformat(KEPT["at"])
    async with hand_on(url, folder, at=at, callback_url="http://tenax.test") as hand:
        yield hand


@pytest.fixture
def hand(empty_database_url: str, tmp_path: Path) -> AbstractAsyncContextManager[Hand]:
    """Gives a test its hand on the migrated database, at the time at which version 0.1 left it."""
    return _migrated(empty_database_url, tmp_path)


async def report(hand: Hand, name: str, outcome: Outcome) -> str:
    """Reports on a lease that version 0.1 granted."""
    a = KEPT["leased"][name]
    given = Report(a["execution_id"], a["item_id"], a["attempt"], a["token"], outcome, a["step"], a["item"])
    return (await hand.engine.report([given]))[0].status


async def rows(hand: Hand) -> dict[tuple[str, str, int | None], dict[str, Any]]:
    names = {id_: name for name, id_ in EXECUTIONS.items()}
    found = await hand.sql("select i.* from tenax.item i")
    return {
        (names.get(row["execution_id"], "child"), row["step"], row["item_no"]): dict(row) for row in found
    }


def old(name: str, column: str, step: str = "s") -> Any:
    [row] = [r for r in KEPT["rows"]["item"] if r["execution_id"] == EXECUTIONS[name] and r["step"] == step]
    return datetime.fromisoformat(row[column]) if row[column] else None


async def test_each_row_says_what_it_said_in_fewer_columns(hand):
    found = await rows(hand)
    assert len(found) == len(KEPT["rows"]["item"])
    told = {
        key: (row["state"], row["stopped_by"], row["standing"], row["awaiting"]) for key, row in found.items()
    }
    assert told == {
        ("held", "s", None): ("held", None, None, None),
        ("retrying", "s", None): ("retrying", None, "ready", None),
        ("callback", "s", None): ("accepted", None, "running", "callback"),
        ("polled", "s", None): ("retrying", None, "ready", None),
        ("signal", "s", None): ("accepted", None, "running", "signal:go"),
        ("approval", "s", None): ("accepted", None, "running", "approval"),
        ("sleep", "s", None): ("accepted", None, "running", "sleep"),
        ("parent", "s", None): ("accepted", None, "running", "child"),
        ("child", "do", None): ("leased", None, "running", None),
        ("undone", "a", None): ("waiting", None, None, None),
        ("undone", "b", None): ("leased", None, "running", None),
        ("fan", "s", 0): ("leased", None, "running", None),
        ("fan", "s", 1): ("retrying", "slot", None, None),
        ("fan", "s", 2): ("leased", None, "running", None),
        ("fan", "s", 3): ("waiting", "slot", None, None),
        ("limited", "s", None): ("leased", None, "running", None),
        ("blocked", "s", None): ("queued", "limit", "blocked", None),
        ("refused", "s", None): ("queued", None, "restricted", None),
        ("leased", "s", None): ("leased", None, "running", None),
        ("paused", "s", None): ("queued", "pause", None, None),
        ("queued", "s", None): ("queued", None, "ready", None),
    }
    ends = {key[0]: row["expires_at"] for key, row in found.items()}
    assert ends["held"] == old("held", "timeout_at")
    assert ends["callback"] == old("callback", "timeout_at")
    assert ends["leased"] == old("leased", "expires_at") == old("leased", "lease_until")
    assert ends["queued"] == old("queued", "queue_deadline")
    assert ends["retrying"] == old("retrying", "queue_deadline")
    assert (ends["approval"], ends["paused"]) == (None, None)
    assert found["blocked", "s", None]["limits"] == ("step:limited/s", 1, None, None)
    [fan] = await hand.sql("select queue_ttl, placed from tenax.fan")
    assert tuple(fan) == (3600.0, 2)
    told = await hand.engine.verify()
    assert told.violations == []


async def test_all_of_it_goes_on_to_its_end(hand):
    for name in ("leased", "limited", "child", "undone", "fan"):
        assert await report(hand, name, Outcome("succeeded", 7)) == "applied", name
    assert await report(hand, "retrying", Outcome("succeeded")) == "late"
    path = urlsplit(KEPT["leased"]["callback"]["callback"]).path.split("/")
    await hand.engine.callback(*map(int, path[3:6]), path[6], Outcome("succeeded", "called"))
    await hand.engine.signal(EXECUTIONS["signal"], "go", actor="me", data=5)
    await hand.engine.decide_approval(EXECUTIONS["approval"], "s", approved=True, actor="me")
    await hand.retry(EXECUTIONS["held"])
    await hand.engine.resume(EXECUTIONS["paused"], actor="me")
    assert (await rows(hand))["paused", "s", None]["expires_at"] is not None, (
        "its time in the queue runs again"
    )
    for _ in range(12):
        await hand.settle_down()
        for worker in ("w1", "w2"):
            await hand.register(worker)
            for a in await hand.lease(worker):
                await hand.succeed(a, 7)
        await hand.pass_time(60)
    ended = {name: await hand.status(id_) for name, id_ in EXECUTIONS.items()}
    assert ended == dict.fromkeys(EXECUTIONS, "completed") | {"undone": "failed"}
    [undone] = await hand.sql("select compensation from tenax.execution where id = $1", EXECUTIONS["undone"])
    assert undone["compensation"] == "completed"
    assert await hand.sql("select from tenax.item") == []
    assert (await hand.engine.verify()).violations == []


async def test_a_lease_of_version_0_1_that_nobody_renews_is_lost(hand):
    await hand.pass_time(60)
    await hand.settle_down()
    types = await hand.types(EXECUTIONS["leased"])
    assert "lease_expired" in types
    assert (await hand.engine.verify()).violations == []


async def test_a_row_that_nothing_would_have_ended_gets_an_end(empty_database_url, tmp_path):
    async with connected(empty_database_url) as connection:
        await fill_version_0_1(connection, tmp_path)
        await connection.execute(
            "update tenax.item set awaiting = null, timeout_at = null where awaiting = 'callback'"
        )
        await migrate(connection)
        [row] = await connection.fetch(
            "select awaiting, expires_at from tenax.item where execution_id = $1", EXECUTIONS["callback"]
        )
    assert row["awaiting"] == "callback"
    assert row["expires_at"] is not None


async def test_what_an_old_server_commits_meanwhile_is_not_undone(empty_database_url, tmp_path):
    leased = EXECUTIONS["leased"]
    async with connected(empty_database_url) as migrating, connected(empty_database_url) as server:
        await fill_version_0_1(migrating, tmp_path)
        async with server.transaction():
            await server.execute("delete from tenax.item where execution_id = $1", leased)
            migration = asyncio.create_task(migrate(migrating))
            while not await server.fetchval("select count(*) from pg_locks where not granted"):
                assert not migration.done()
        await migration
        assert await server.fetch("select from tenax.item where execution_id = $1", leased) == []


async def test_the_history_of_version_0_1_is_counted_and_seen_by_operators(hand):
    await RollUp(hand.engine.context).catch_up()
    found = await assert_equal_to_events(hand)
    assert found["attempts"].total() == 8
    await assert_view_equals_events(hand)
    events = await hand.sql("select count(*) as n from tenax.event where execution_id is not null")
    assert await hand.sql("select count(*) as n from ops.events where execution_id is not null") == events
    for view in ("attempts", "execution", "retry_chain", "queue", "dead_letters", "retry_stats"):
        assert await hand.sql(f"select v.* from ops.{view} v"), view
    started = await hand.sql(
        "select count(*) as n from tenax.event where type in ('action_started', 'compensation_started', 'queue_expired')"
    )
    assert await hand.sql("select count(*) as n from ops.attempts") == started
