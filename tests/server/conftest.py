"""Real servers (`tests/support/serve/served.py`) for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.serve.served import Served, start_server

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
def standing(database_url_of_module: str) -> Iterator[Served]:
    """One server for all tests of a module: for those that leave nothing behind which others could trip over."""
    server = start_server(Settings(database_url=database_url_of_module, port=0, open=True))
    yield server
    server.stop()
