"""Tests connections: their settings, the errors if there is none, and the restart of the embedded PostgreSQL."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest
from support.waiting import eventually

from tenax.errors import SchemaOutdated, TenaxError, Unreachable, UsageError
from tenax.settings import Settings
from tenax.store import connect
from tenax.store.connect import Database, open_pool
from tenax.store.connections.outages import GONE
from tenax.store.embedded.postmaster import postmaster_of, processes_of, wait_for_end
from tenax.store.migrate import status


async def refused(url: str) -> TenaxError:
    with pytest.raises(TenaxError) as caught:
        await open_pool(url)
    return caught.value


def with_parts(url: str, **parts: str) -> str:
    # urlunsplit drops an empty netloc, which a URL of a socket has.
    return urlunsplit(urlsplit(url)._replace(**{"netloc": "tenax@", **parts}))


async def test_a_session_has_our_settings(any_database_url):
    pool = await open_pool(any_database_url, application_name="tenax test")
    async with pool.acquire() as connection:
        names = ("jit", "timezone", "application_name", "plan_cache_mode", "statement_timeout")
        values = [await connection.fetchval("select current_setting($1)", name) for name in names]
        assert values == ["off", "UTC", "tenax test", "force_custom_plan", "1min"]
        # jsonb stays text both ways: callers encode once, for a whole batch.
        assert await connection.fetchval("select ($1::jsonb[])[2]", ["1", '{"a": [1]}']) == '{"a": [1]}'
    await pool.close()


async def test_nobody_answers():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        error = await refused(f"postgresql://someone:hush@127.0.0.1:{port}/tenax")
    assert isinstance(error, Unreachable)
    assert f"no PostgreSQL answers at 127.0.0.1:{port}: " in error.message
    assert "hush" not in f"{error.message} {error.remedy}"
    assert error.exit_code == 3


async def test_no_socket(tmp_path):
    error = await refused(f"postgresql://tenax@/tenax?host={tmp_path}")
    assert error.message.startswith(f"no PostgreSQL answers at {tmp_path}: ")


async def test_no_such_database(embedded_server):
    error = await refused(with_parts(embedded_server, path="/nowhere"))
    assert error.message.endswith("has no database nowhere")
    assert "createdb nowhere" in error.remedy


async def test_no_such_user(embedded_server):
    error = await refused(with_parts(embedded_server, netloc="stranger:hush@"))
    assert "refuses user stranger: " in error.message
    assert "hush" not in error.message


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://h:port/d",
        "postgresql://127.0.0.1:99999/d",
        "postgresql://tenax@h/d?sslmode=perhaps",
        "postgresql://tenax:hush[hush@127.0.0.1:1/d",
        "postgresql://tenax:hush/hush@127.0.0.1:1/d",
        "postgresql://tenax:hush#hush@127.0.0.1:1/d",
        "postgresql://tenax:hush?hush@127.0.0.1:1/d",
        "postgresql://127.0.0.1:1/hush@127.0.0.1:1/d",
        "postgresql://127.0.0.1:1#hush@127.0.0.1:1/d",
        "hush",
    ],
)
async def test_a_url_that_makes_no_sense_is_refused_without_quoting_it(url):
    error = await refused(url)
    assert isinstance(error, UsageError)
    assert (
        error.message == "the database URL cannot be read; percent-encode special characters in the password"
    )
    assert "hush" not in f"{error.message} {error.remedy}"
    assert error.__cause__ is None
    assert error.__suppress_context__


@pytest.mark.parametrize("password", ["1?hush=x", "hush@hush", "hush%2Fhush", "hush:hush"])
async def test_no_message_holds_a_piece_of_the_password(password):
    error = await refused(f"postgresql://localhost:{password}@127.0.0.1:1/d")
    assert "hush" not in f"{error.message} {error.remedy}"
    assert "localhost:1" not in error.message


async def test_a_server_that_does_not_answer(monkeypatch):
    monkeypatch.setattr(connect, "_CONNECT_SECONDS", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        error = await refused(f"postgresql://tenax@127.0.0.1:{port}/tenax?sslmode=disable")
    assert error.message == f"PostgreSQL at 127.0.0.1:{port} did not answer within 0.05 s"


@contextlib.asynccontextmanager
async def server_of_version(version: str) -> AsyncIterator[int]:
    """Just enough of PostgreSQL's protocol to be asked for its version: no PostgreSQL so old is at hand."""

    def message(kind: bytes, body: bytes) -> bytes:
        return kind + struct.pack("!i", len(body) + 4) + body

    ready = message(b"Z", b"I")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(struct.unpack("!i", await reader.readexactly(4))[0] - 4)
        writer.write(message(b"R", struct.pack("!i", 0)))
        writer.write(message(b"S", b"server_version\0" + version.encode() + b"\0"))
        writer.write(message(b"K", struct.pack("!ii", 1, 1)) + ready)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                head = await reader.readexactly(5)
                await reader.readexactly(struct.unpack("!i", head[1:])[0] - 4)
                if head[:1] == b"Q":
                    writer.write(message(b"C", b"SELECT 0\0") + ready)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


TOO_OLD = "^PostgreSQL 13.2 is too old: Tenax needs 14 or newer$"


@pytest.mark.parametrize(
    ("version", "told"),
    [("13.2", pytest.raises(Unreachable, match=TOO_OLD)), ("14.0", contextlib.nullcontext())],
    ids=["13.2", "14.0"],
)
async def test_a_postgresql_must_be_new_enough(version, told):
    async with server_of_version(version) as port:
        with told:
            pool = await open_pool(f"postgresql://tenax@127.0.0.1:{port}/tenax?sslmode=disable")
            pool.terminate()


async def test_a_database_by_url_is_not_migrated_behind_its_owners_back(empty_database_url):
    settings = Settings(home=Path("/nowhere"), database_url=empty_database_url)
    with pytest.raises(SchemaOutdated, match="schema is empty") as caught:
        await Database.connected(settings)
    assert caught.value.remedy == "run: tenax db migrate"
    database = await Database.connected(settings, check_schema=False)
    assert database.embedded is None
    await database.close()


async def test_a_database_by_url_that_is_migrated(any_database_url):
    async with Database.open(Settings(home=Path("/nowhere"), database_url=any_database_url)) as database:
        assert database.url == any_database_url
        assert await database.pool.fetchval("select 1") == 1
        connection = await database.connect()
        assert await connection.fetchval("select 2") == 2
        await connection.close()


async def test_the_embedded_database_migrates_itself_and_goes_when_it_is_closed(open_folder):
    async with Database.open(Settings(home=open_folder / "home")) as database:
        assert not (await status(await database.connect())).pending
        data = database.embedded.status().data
        assert processes_of(data)
    assert not processes_of(data)


async def test_the_pool_of_the_embedded_database_survives_its_kill_9(open_folder):
    async with Database.open(Settings(home=open_folder / "home"), max_size=2) as database:
        await database.pool.execute("create table kept as select 7 as id")
        found = database.embedded.status()
        async with database.pool.acquire() as connection:
            backend = Path(f"/proc/{await connection.fetchval('select pg_backend_pid()')}")
            os.kill(found.pid, signal.SIGKILL)
            # It notices the death of its parent a moment later, and might still answer until then.
            await asyncio.to_thread(eventually, lambda: not backend.exists())
            await asyncio.to_thread(eventually, lambda: postmaster_of(found.data) != found.pid)
            with pytest.raises((*GONE, asyncpg.InterfaceError, Unreachable)):
                await connection.fetchval("select 1")
        assert await database.pool.fetchval("select id from kept") == 7
        assert await (await database.connect()).fetchval("select 8") == 8


async def test_after_a_revival_the_url_is_the_one_it_gave(database_url, tmp_path):
    revived = []

    async def revive() -> str:
        revived.append(database_url)
        return database_url

    pool = await open_pool(f"postgresql://tenax@/tenax?host={tmp_path}", max_size=2, revive=revive)
    async with pool.acquire() as one, pool.acquire() as other:
        assert await one.fetchval("select 1") + await other.fetchval("select 1") == 2
    await pool.close()
    assert len(revived) == 1


async def test_the_database_looks_after_the_watcher_of_its_server(open_folder, database_url):
    async with Database.open(Settings(home=Path("/nowhere"), database_url=database_url)) as database:
        await database.look_after()
    async with Database.open(Settings(home=open_folder / "home")) as database:
        lock = database.embedded.status().place / "watch.lock"
        first = int(lock.read_text())
        os.kill(first, signal.SIGKILL)
        await asyncio.to_thread(eventually, lambda: wait_for_end(first, 0))
        await database.look_after()
        assert not wait_for_end(int(lock.read_text()), 0)


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        (ConnectionResetError(), True),
        (asyncpg.ConnectionDoesNotExistError(), True),
        (asyncpg.AdminShutdownError(), True),
        (FileNotFoundError(), True),
        (asyncpg.UniqueViolationError(), False),
        (asyncpg.DeadlockDetectedError(), False),
        (ValueError(), False),
    ],
)
def test_what_a_lost_connection_is(error, lost):
    assert isinstance(error, GONE) is lost
