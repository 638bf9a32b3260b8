"""Real servers (`tests/support/served.py`) for the tests of this folder."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest
from support.served import Served, in_database, start_server

from tenax.settings import Settings


@pytest.fixture
def start(database_url: str, tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Starts a server that is open, unless the test says otherwise."""
    servers: list[Served] = []

    def make(**more: Any) -> Served:
        given = {"home": tmp_path / "home", "database_url": database_url, "port": 0, "open": True, **more}
        servers.append(start_server(Settings(**given)))
        return servers[-1]

    yield make
    for server in servers:
        server.stop()


@pytest.fixture
def server(start: Callable[..., Served]) -> Served:
    return start()


@pytest.fixture(scope="module")
def standing(embedded_server: str) -> Iterator[Served]:
    """One server for all tests of a module: for those that leave nothing behind which others could trip over."""
    name = f"test_{uuid.uuid4().hex[:16]}"
    in_database(embedded_server, lambda tx: tx.execute(f"create database {name} template template_for_tests"))
    url = urlunsplit(urlsplit(embedded_server)._replace(path=f"/{name}"))
    server = start_server(Settings(database_url=url, port=0, open=True))
    yield server
    server.stop()
    in_database(embedded_server, lambda tx: tx.execute(f"drop database {name} with (force)"))
