"""A transaction's failures: an outage is `Unreachable`, a fault of our own is not."""

from __future__ import annotations

import asyncio
from pathlib import Path

import asyncpg
import pytest

from tenax.errors import Unreachable
from tenax.settings import Settings
from tenax.store.connect import Database
from tenax.store.session import transaction


def test_a_connection_that_is_cut_is_an_outage_and_the_next_one_works(
    any_database_url: str, tmp_path: Path
) -> None:
    async def scene() -> None:
        async with Database.open(Settings(home=tmp_path, database_url=any_database_url)) as database:
            with pytest.raises(Unreachable):
                async with transaction(database) as tx:
                    async with transaction(database) as other:
                        pid = await tx.fetchval("select pg_backend_pid()")
                        await other.execute("select pg_terminate_backend($1)", pid)
                    await tx.fetchval("select 1")
            async with transaction(database) as tx:
                assert await tx.fetchval("select 1") == 1

    asyncio.run(scene())


def test_a_wrong_call_is_no_outage(any_database_url: str, tmp_path: Path) -> None:
    async def scene() -> None:
        async with Database.open(Settings(home=tmp_path, database_url=any_database_url)) as database:
            with pytest.raises(asyncpg.InterfaceError, match="expects 1 argument"):
                async with transaction(database) as tx:
                    await tx.fetchval("select $1::int", 1, 2)

    asyncio.run(scene())


def test_a_statement_that_waits_too_long_for_a_lock_can_be_tried_again(
    any_database_url: str, tmp_path: Path
) -> None:
    async def scene() -> None:
        async with Database.open(Settings(home=tmp_path, database_url=any_database_url)) as database:
            async with transaction(database) as holder:
                await holder.execute("lock table tenax.token")
                with pytest.raises(Unreachable, match="in time"):
                    async with transaction(database) as tx:
                        await tx.execute("set local lock_timeout = '10ms'")
                        await tx.execute("lock table tenax.token")

    asyncio.run(scene())
