"""Runs Tenax in your own process: the engine, and workers that speak to it without HTTP."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

from tenax.engine.engine import Engine
from tenax.model.wire import (
    Assignment,
    AttemptNotes,
    AttemptNotesAnswer,
    Heartbeat,
    HeartbeatAnswer,
    LeaseRequest,
    Registration,
    RegistrationAnswer,
    Release,
    Report,
)
from tenax.settings import Settings, load_settings
from tenax.store.connect import Database
from tenax.transactions.task_database import TaskDatabase
from tenax.worker.worker import Worker


class LocalTransport:
    """Connects a worker to an engine in the same process."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def register(self, registration: Registration) -> RegistrationAnswer:
        return await self._engine.register(registration)

    async def lease(self, request: LeaseRequest) -> Sequence[Assignment]:
        return await self._engine.lease(request)

    async def report(self, reports: Sequence[Report]) -> None:
        await self._engine.report(reports)

    async def release(self, releases: Sequence[Release]) -> None:
        await self._engine.release(releases)

    async def heartbeat(self, heartbeat: Heartbeat) -> HeartbeatAnswer:
        return await self._engine.heartbeat(heartbeat)

    async def take_notes(self, notes: AttemptNotes) -> AttemptNotesAnswer:
        return await self._engine.take_notes(notes)

    async def pack_chunk(self, content: str, number: int) -> bytes:
        return await self._engine.packs.chunk(content, number)

    async def close(self) -> None:
        """Does nothing: the engine belongs to its opener."""


@contextlib.asynccontextmanager
async def open_engine(settings: Settings | None = None) -> AsyncIterator[Engine]:
    """Runs an engine with its loops, on the database of the settings or, if none is named, the embedded one."""
    settings = settings or load_settings()
    async with Database.open(settings) as database, Engine(database, settings).running() as engine:
        yield engine


@contextlib.asynccontextmanager
async def local_worker(engine: Engine, *, name: str, **options: Any) -> AsyncIterator[Worker]:
    """Runs a worker in this process. It is drained when the block ends. Its tasks complete in transactions of the engine's
    database, if they like."""
    options.setdefault("database", TaskDatabase(engine.context.database.url))
    worker = Worker(LocalTransport(engine), name=name, **options)
    stop = asyncio.Event()
    running = asyncio.create_task(worker.run(stop))
    try:
        yield worker
    finally:
        stop.set()
        await running
