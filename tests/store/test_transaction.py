"""Tests the failures of a transaction: an outage is `Unreachable`, a bug of Tenax is not."""

from __future__ import annotations

import asyncpg
import pytest

from tenax.errors import Unreachable
from tenax.settings import Settings
from tenax.store.connect import Database
from tenax.store.transaction import transaction


async def cut_off(database: Database) -> None:
    async with transaction(database) as tx:
        async with transaction(database) as other:
            pid = await tx.fetchval("select pg_backend_pid()")
            await other.execute("select pg_terminate_backend($1)", pid)
        await tx.fetchval("select 1")


async def kept_waiting(database: Database) -> None:
    async with transaction(database) as holder, transaction(database) as tx:
        await holder.execute("lock table tenax.token")
        await tx.execute("set local lock_timeout = '10ms'")
        await tx.execute("lock table tenax.token")


async def called_wrongly(database: Database) -> None:
    async with transaction(database) as tx:
        await tx.fetchval("select $1::int", 1, 2)


@pytest.mark.parametrize(
    ("scene", "error", "words"),
    [
        (cut_off, Unreachable, "gone"),
        (kept_waiting, Unreachable, "in time"),
        (called_wrongly, asyncpg.InterfaceError, "expects 1 argument"),
    ],
)
async def test_what_a_failure_means_and_that_the_next_transaction_works(
    any_database_url, tmp_path, scene, error, words
):
    async with Database.open(Settings(home=tmp_path, database_url=any_database_url)) as database:
        with pytest.raises(error, match=words):
            await scene(database)
        async with transaction(database) as tx:
            assert await tx.fetchval("select 1") == 1
