"""Servers, people who are signed in, and a real browser that fails the test on any fault of a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from support.browse.browsing import Browsing, browsing
from support.browse.worker_by_hand import WorkerByHand
from support.serve.served import Served, start_server

from tenax.settings import Settings
from tenax.store.fleet.tokens import ROLES


@pytest.fixture
def start(database_url: str, tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Starts a server that is open, unless the test says otherwise."""
    servers: list[Served] = []

    def make(show_dashboard: Callable[[str], None] | None = None, **more: Any) -> Served:
        given = {"home": tmp_path / "home", "database_url": database_url, "port": 0, "open": True, **more}
        servers.append(start_server(Settings(**given), show_dashboard))
        return servers[-1]

    yield make
    for server in servers:
        server.stop()


@pytest.fixture
def server(start: Callable[..., Served]) -> Served:
    return start()


@pytest.fixture
def browser() -> AbstractAsyncContextManager[Browsing]:
    """Opens a browser for the test. Asynchronous tests get it opened."""
    return browsing()


@pytest.fixture
def hand(server: Served) -> Iterator[WorkerByHand]:
    """Plays a worker of the open server."""
    with server.http() as http:
        yield WorkerByHand(http)


@pytest.fixture
def tokens(start: Callable[..., Served]) -> tuple[Served, dict[str, str]]:
    """Returns a server that is closed, and a token of each role."""
    server = start(open=False)
    return server, {role: server.token(role) for role in ROLES}


@pytest.fixture
def start_with_link(start: Callable[..., Served]) -> tuple[Served, str]:
    """Returns a server that is closed, and the address that it shows to the user who starts it."""
    links: Queue[str] = Queue()
    server = start(open=False, show_dashboard=links.put)
    return server, links.get(timeout=10)


@pytest.fixture(scope="module")
def standing(database_url_of_module: str) -> Iterator[Served]:
    """One server for all tests of a module that leave nothing behind."""
    server = start_server(Settings(database_url=database_url_of_module, port=0, open=True))
    yield server
    server.stop()
