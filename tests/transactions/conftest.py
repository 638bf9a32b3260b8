"""A server and a worker in the test's process, on a database that the test's own connections use too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tenax.embed import local_worker
from tenax.engine.engine import Engine
from tenax.model.execution_views import Execution
from tenax.model.wire import Submission
from tenax.settings import Settings
from tenax.store.connect import Database

ENDED = ("completed", "failed", "cancelled")


class House:
    """Is a running engine with its database."""

    def __init__(self, engine: Engine, url: str) -> None:
        self.engine = engine
        self.url = url

    async def ended(self, execution_id: int) -> Execution:
        """Returns an execution once it has ended."""
        async with asyncio.timeout(60), self.engine.changes() as changed:
            while not await self.sql(
                "select from tenax.execution where id = $1 and finished_at is not null", execution_id
            ):
                changed.clear()
                async with asyncio.timeout(5):
                    await changed.wait()
        return await self.engine.get(execution_id)

    async def run(self, source: str, **more: Any) -> Execution:
        """Submits a workflow and returns it once it has ended."""
        [submitted] = await self.engine.submit([Submission(source=source, **more)])
        return await self.ended(submitted.id)

    async def sql(self, statement: str, *arguments: Any) -> Sequence[Any]:
        connection = await asyncpg.connect(self.url)
        try:
            found: Sequence[Any] = await connection.fetch(statement, *arguments)
            return found
        finally:
            await connection.close()

    async def violations(self) -> list[Any]:
        return list((await self.engine.verify()).violations)


@asynccontextmanager
async def opened(url: str, home: Path) -> AsyncIterator[House]:
    settings = Settings(home=home, database_url=url)
    async with Database.open(settings) as database, Engine(database, settings).running() as engine:
        house = House(engine, url)
        await house.sql("create table if not exists public.effect (attempt text, n serial)")
        try:
            async with local_worker(engine, name="w1"):
                yield house
        finally:
            await house.sql("drop table public.effect")


@pytest.fixture
def house(database_url: str, tmp_path: Path) -> AbstractAsyncContextManager[House]:
    return opened(database_url, tmp_path)
