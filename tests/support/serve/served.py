"""Runs servers in threads of this process, on free ports, over the test's database."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from queue import Queue
from typing import Any, TypeVar

import httpx2
import uvloop

from tenax.server.app import serve
from tenax.settings import Settings
from tenax.store.connect import connect
from tenax.store.fleet.tokens import create_token

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Served:
    url: str
    database_url: str
    stop: Callable[[], None]

    def http(self, token: str | None = None) -> httpx2.Client:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=30)

    def execute(self, *statement: Any) -> None:
        """Runs a statement straight in the server's database."""
        in_database(self.database_url, lambda tx: tx.execute(*statement))

    def token(self, role: str, name: str | None = None) -> str:
        return in_database(self.database_url, lambda tx: create_token(tx, name or f"a-{role}", role))[1]


def in_database(url: str, work: Callable[[Any], Awaitable[T]]) -> T:
    async def go() -> T:
        connection = await connect(url)
        try:
            return await work(connection)
        finally:
            await connection.close()

    return asyncio.run(go())


def start_server(settings: Settings, show_dashboard: Callable[[str], None] | None = None) -> Served:
    """Starts a server and returns when it listens. Raises the errors of `serve`."""
    started: Queue[Any] = Queue()
    stop = asyncio.Event()
    loop = uvloop.new_event_loop()

    def body() -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                runner.run(serve(settings, ready=started.put, show_dashboard=show_dashboard, stop=stop))
        except BaseException as error:  # noqa: BLE001 - it is raised again where the server was started
            started.put(error)

    thread = threading.Thread(target=body)
    thread.start()

    def end() -> None:
        if thread.is_alive():
            loop.call_soon_threadsafe(stop.set)
            thread.join()

    outcome = started.get(timeout=30)
    if isinstance(outcome, BaseException):
        thread.join()
        raise outcome
    return Served(outcome, str(settings.database_url), end)
