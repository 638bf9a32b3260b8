"""Tests that a server starts over any link, and waits for a PostgreSQL that cannot be reached."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from support.attack.lossy_proxy import LossyProxy
from support.processes import Household, free_port
from support.profiles import is_full
from support.waiting import eventually

from tenax.errors import DatabaseAway, Unreachable
from tenax.server.app import serve
from tenax.settings import Settings
from tenax.store import connect
from tenax.store.connect import Database
from tenax.store.embedded.server import EmbeddedPostgres
from tenax.store.transaction import transaction

SEEDS = 24 if is_full() else 8
EVERY = 2 if is_full() else 6
"""The moments of a start that are tried: each second, or each sixth."""
AT_ONCE = 2
"""Servers that start at the same time, each over a link of its own. A start mostly waits."""
STARTS = 60.0  # seconds that a start may take at most, over the worst link


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece that is lost is noticed soon."""
    monkeypatch.setattr(connect, "_CONNECT_SECONDS", 2.0)


async def started(url: str, **more: Any) -> None:
    """Starts a server, waits until it is ready, and stops it."""
    stop, ready = asyncio.Event(), asyncio.Event()

    def told(_url: str) -> None:
        ready.set()
        stop.set()

    async with asyncio.timeout(STARTS):
        await serve(Settings(database_url=url, port=0, **more), ready=told, stop=stop)
    assert ready.is_set()


async def test_no_start_over_a_lossy_link_ends_the_server(quick, database_url):
    broken = 0
    for seed in range(SEEDS):
        async with LossyProxy(database_url, seed=seed).running() as proxy:
            await started(proxy.url)
            broken += proxy.broken
    assert broken > SEEDS, "the link was lossy indeed"


async def test_an_outage_at_any_moment_of_the_start_is_waited_for(quick, database_url):
    async with LossyProxy(database_url).running() as proxy:
        await started(proxy.url)
        all_messages = proxy.messages
    assert all_messages > 10
    moments = iter(range(1, all_messages + 1, EVERY))

    async def try_moments() -> None:
        async with LossyProxy(database_url).running() as proxy:
            for moment in moments:
                begun = proxy.messages

                async def cut(number: int, at: int = begun + moment) -> None:
                    if number == at:
                        proxy.refuses = 2
                        proxy.break_all()

                proxy.on_message = cut
                await started(proxy.url)

    await asyncio.gather(*(try_moments() for _ in range(AT_ONCE)))


async def test_postgresql_is_restarted_while_a_server_starts(open_folder: Path):
    with EmbeddedPostgres(open_folder / "home", options={"fsync": "off"}) as postgres:
        url = postgres.ensure_running()
        async with Database.open(Settings(home=open_folder / "home")):
            pass  # which makes the schema
        async with LossyProxy(url).running() as proxy:
            await started(proxy.url)
            all_messages = proxy.messages
            for moment in (2, all_messages // 2, all_messages - 3):
                begun = proxy.messages

                async def restart(number: int, at: int = begun + moment) -> None:
                    if number == at:
                        pid = postgres.status().pid
                        os.kill(pid, signal.SIGINT)
                        await asyncio.to_thread(eventually, lambda: postgres.status().pid != pid)
                        await asyncio.to_thread(postgres.ensure_running)

                proxy.on_message = restart
                await started(proxy.url)


async def test_a_server_says_once_that_it_waits_and_once_that_postgresql_is_back(database_url):
    async with LossyProxy(database_url).running() as proxy:
        proxy.refuses = 4
        with capture_logs() as logs:
            await started(proxy.url)
    told = [line["event"] for line in logs if "PostgreSQL" in line["event"]]
    assert [line.partition(":")[0] for line in told] == ["waiting for PostgreSQL", "PostgreSQL is back"]


async def test_the_wait_ends_when_the_setting_says_so(database_url):
    async with LossyProxy(database_url).running() as proxy:
        proxy.refuses = 1000
        with pytest.raises(DatabaseAway, match=r"the connection to PostgreSQL|no PostgreSQL answers"):
            await started(proxy.url, database_wait=0.2)
        assert proxy.refuses > 990


async def test_what_waiting_cannot_help_is_said_at_once(embedded_server):
    url = embedded_server.replace("/tenax?", "/nowhere?")
    with pytest.raises(Unreachable, match="has no database"):
        await started(url)


async def test_a_transaction_over_a_broken_link_says_so_in_the_words_of_the_link(database_url, tmp_path):
    async def broken(database: Database, proxy: LossyProxy) -> None:
        async with transaction(database) as tx:
            proxy.break_all()
            await tx.fetchval("select 1")

    async with (
        LossyProxy(database_url).running() as proxy,
        Database.open(Settings(home=tmp_path, database_url=proxy.url)) as database,
    ):
        with pytest.raises(DatabaseAway) as caught:
            await broken(database, proxy)
        assert "is_closed" not in caught.value.message
        async with transaction(database) as tx:
            assert await tx.fetchval("select 1") == 1


def test_up_waits_for_postgresql_and_can_be_stopped_while_it_does(tmp_path: Path) -> None:
    away = f"postgresql://tenax@127.0.0.1:{free_port()}/tenax"
    with Household(tmp_path, tmp_path / "home", database_url=away) as house:
        up = house.start("up", "--workers", "0")
        eventually(lambda: "tenax up: waiting for PostgreSQL: no PostgreSQL answers" in house.words(up))
        up.send_signal(signal.SIGTERM)
        assert up.wait(20) == 0


def test_a_command_does_not_wait_long(tmp_path: Path) -> None:
    away = f"postgresql://tenax@127.0.0.1:{free_port()}/tenax"
    with Household(tmp_path, tmp_path / "home", database_url=away) as house:
        done = house.run("list", TENAX_SERVER="")
    assert (done.returncode, "no PostgreSQL answers" in done.stderr) == (3, True)
