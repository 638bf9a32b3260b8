"""Runs workers in the process of an application."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import AsyncIterator
from itertools import count
from typing import TYPE_CHECKING, Any

from tenax.errors import UsageError
from tenax.model.names import as_worker_name
from tenax.transactions.task_database import TaskDatabase
from tenax.worker.handlers.registry import NoHandler, load_modules
from tenax.worker.transport import Transport
from tenax.worker.worker import Worker

if TYPE_CHECKING:
    from tenax.settings import Settings

log = logging.getLogger("tenax.app")
_numbers = count(1)


def import_tasks(modules: tuple[str, ...]) -> None:
    """Imports modules for the tasks that they register. Raises `UsageError` if there is no such module."""
    try:
        load_modules(modules)
    except NoHandler as error:
        raise UsageError(
            str(error), remedy="modules are searched in the working folder and on sys.path"
        ) from error


@contextlib.asynccontextmanager
async def own_worker(
    transport: Transport, settings: Settings, database_url: str | None, *, name: str | None, **options: Any
) -> AsyncIterator[Worker]:
    """Runs a worker for as long as the block lasts, and drains it then. `options` replace what the settings say.

    Its tasks complete in transactions of the database, if its URL is known. An error that ends the worker early is logged at once,
    and raised at the end of the block.
    """
    from tenax.settings.agents import agent_defaults
    from tenax.settings.worker_options import worker_options

    own = {"runtimes": settings.runtimes, **worker_options(settings, agent_defaults(settings)), **options}
    if database_url is not None:
        own.setdefault("database", TaskDatabase(database_url))
    worker = Worker(transport, name=name or _name(settings), **own)
    stop = asyncio.Event()
    running = asyncio.create_task(worker.run(stop))
    running.add_done_callback(_log_failure)
    try:
        yield worker
    finally:
        stop.set()
        try:
            await running
        finally:
            await transport.close()


def _log_failure(running: asyncio.Task[None]) -> None:
    if not running.cancelled() and (error := running.exception()) is not None:
        log.error("the worker in this process has ended: %s", error)


def _name(settings: Settings) -> str:
    own = settings.worker_name or as_worker_name(f"app-{socket.gethostname()}-{os.getpid()}")
    return f"{own}-{next(_numbers)}"
