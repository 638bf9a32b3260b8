"""Runs the previous release beside this one on one PostgreSQL: an upgrade under load, with processes that stay behind.

The sources of the previous release come from the history of this repository.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest
from support.processes import Household, free_port
from support.recorded.earlier_sources import extract
from support.waiting import eventually

from tenax.model.wire import Submission
from tenax.sdk.sync_client import SyncClient
from tenax.store.migrate import latest_version

PREVIOUS = "bcf0f41"
FLOW = """
name: flow
defaults: {retry: {max_attempts: 20, initial_delay: 100ms, max_delay: 500ms}}
workflow:
  - {step: a, type: process, command: "sleep 0.2; echo a"}
  - {step: b, type: process, command: "echo b; test {{ attempt }} -ge 2", needs: [a]}
  - {step: c, type: process, command: "sleep 0.2; echo c", needs: [b]}
"""
TERMS = {"lease": "2s", "heartbeat": "300ms", "sweep": "1s"}


@pytest.fixture(scope="module")
def previous(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder with the sources of the previous release."""
    try:
        return str(extract(PREVIOUS, tmp_path_factory.mktemp("previous")))
    except subprocess.CalledProcessError as error:
        pytest.skip(f"git has no commit {PREVIOUS} here: {error.stderr.decode().strip()}")


def ask(url: str, statement: str, *arguments: Any) -> list[Any]:
    async def go() -> list[Any]:
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetch(statement, *arguments)
        finally:
            await connection.close()

    return asyncio.run(go())


@pytest.fixture
def empty_database(embedded_server: str) -> Iterator[str]:
    name = f"upgrade_{os.getpid()}_{free_port()}"
    ask(embedded_server, f"create database {name}")
    yield urlunsplit(urlsplit(embedded_server)._replace(path=f"/{name}", netloc="tenax@"))
    ask(embedded_server, f"drop database {name} with (force)")


def states(url: str) -> dict[str, int]:
    found = ask(url, "select state, count(*) as n from tenax.execution group by state")
    return {row["state"]: row["n"] for row in found}


def test_an_upgrade_under_load_loses_nothing(tmp_path: Path, previous: str, empty_database: str) -> None:
    """The old server and the old worker go on through the migration. The new ones finish what was begun."""
    with Household(tmp_path, tmp_path / "home", database_url=empty_database, **TERMS) as house:
        assert house.run_anew("db", "migrate", PYTHONPATH=previous).returncode == 0
        old = house.start("server", PYTHONPATH=previous)
        house.until_ready(old)
        new_port = free_port()
        new_url = f"http://127.0.0.1:{new_port}"
        old_worker = house.start(
            "worker", "--name", "old", PYTHONPATH=previous, TENAX_SERVER=f"{house.url},{new_url}"
        )
        with SyncClient(house.url) as client:
            client.submit_many([Submission(source=FLOW)] * 20)
        eventually(lambda: states(empty_database).get("completed", 0) >= 2, timeout=30)

        migrated = house.run("db", "migrate")
        assert migrated.returncode == 0, migrated.stderr
        new = house.start("server", "--port", str(new_port), "--open")
        eventually(lambda: house._says_or_died(new, "listening on"), timeout=60)
        worker = house.start("worker", "--name", "new", TENAX_SERVER=new_url)
        with SyncClient(new_url) as client:
            client.submit_many([Submission(source=FLOW)] * 5)
        eventually(lambda: states(empty_database) == {"completed": 25}, timeout=60)

        # Once the old server is stopped, the old worker comes to the new one, is told what to do, and ends.
        old.terminate()
        assert old_worker.wait(30) == 2, house.words(old_worker)
        assert "worker old speaks version 1 of the workers' protocol" in house.words(old_worker)
        assert "install the server's version of Tenax" in house.words(old_worker)
        released = ask(empty_database, "select from tenax.event where type = 'lease_released'")
        assert len(released) < 25, "nothing goes round and round"
        # What the old server tells does not break the loops of the new one.
        assert (new.poll(), worker.poll()) == (None, None)
        assert "broke" not in house.words(new), house.words(new)
        assert "Traceback" not in house.words(new)


def test_an_old_worker_at_a_new_server_is_told_so_at_once(
    tmp_path: Path, previous: str, database_url: str
) -> None:
    with Household(tmp_path, tmp_path / "home", database_url=database_url, open="true", **TERMS) as house:
        house.server()
        ended = house.run_anew("worker", "--name", "old", PYTHONPATH=previous)
        assert ended.returncode == 2
        assert (
            "worker old speaks version 1 of the workers' protocol, and this server needs 2 or newer"
            in ended.stderr
        )
        assert "Traceback" not in ended.stderr


def test_a_new_worker_works_for_an_old_server(tmp_path: Path, previous: str, empty_database: str) -> None:
    """Workers are upgraded first, and then the servers."""
    with Household(tmp_path, tmp_path / "home", database_url=empty_database, **TERMS) as house:
        assert house.run_anew("db", "migrate", PYTHONPATH=previous).returncode == 0
        house.until_ready(house.start("server", PYTHONPATH=previous))
        house.worker("--name", "new")
        with SyncClient(house.url) as client:
            client.submit_many([Submission(source=FLOW)] * 3)
        eventually(lambda: states(empty_database) == {"completed": 3}, timeout=30)


def test_an_old_server_does_not_start_on_a_new_schema(
    tmp_path: Path, previous: str, database_url: str
) -> None:
    with Household(tmp_path, tmp_path / "home", database_url=database_url) as house:
        ended = house.run_anew("server", PYTHONPATH=previous)
        assert ended.returncode == 3
        assert "the database is newer than this version of Tenax" in ended.stderr


def test_from_now_on_a_server_stops_by_itself_when_its_schema_is_too_old(
    tmp_path: Path, database_url: str
) -> None:
    """Does what a migration of a later version does to a server of this one.

    The server notices it when its connection is lost, or within seconds.
    """
    with Household(tmp_path, tmp_path / "home", database_url=database_url, **TERMS) as house:
        server = house.server()
        newer = latest_version() + 1
        ask(database_url, "update tenax.service set oldest_schema = $1", newer)
        ask(
            database_url,
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query ilike 'listen%'",
        )
        assert server.wait(30) == 3
        assert f"it wants servers that know schema {newer}" in house.words(server)
        assert "install the version of Tenax that the other servers run" in house.words(server)
        assert "Traceback" not in house.words(server)
