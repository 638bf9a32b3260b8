"""A server for each file of this folder, and a look at the memory that its tests took."""

from __future__ import annotations

import asyncio
import gc
import resource
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from support.serve.served import Served, start_server

from tenax.settings import Settings
from tenax.store.connect import connect

MOST_GROWTH = 300 * 1024**2
"""Bytes by which the tests of one file may let the process grow, in the short and in the long form."""
IMPATIENT = 0.2
"""Seconds for a head or a body: many of those that are sent here are never finished."""


def resident() -> int:
    """Returns the bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.fixture(scope="module", autouse=True)
def memory_is_bounded() -> Iterator[None]:
    gc.collect()
    before = resident()
    yield
    gc.collect()
    assert resident() - before < MOST_GROWTH


@dataclass(frozen=True, slots=True)
class Target:
    """A real server that is sent what nobody should send."""

    served: Served
    http: Any
    runner: asyncio.Runner
    connection: Any
    """Straight to its database."""

    def counted(self, query: str, *arguments: Any) -> int:
        found: int = self.runner.run(self.connection.fetchval(query, *arguments))
        return found

    def is_alive(self) -> bool:
        return bool(self.http.get("/healthz").status_code == 200)


@pytest.fixture(scope="module")
def target(database_url_of_module: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """An open server, kept for all examples of a file. No line of its log may be an error."""
    home = tmp_path_factory.mktemp("home")
    timeouts = {"head_timeout": IMPATIENT, "body_timeout": IMPATIENT}
    served = start_server(
        Settings(home=home, database_url=database_url_of_module, port=0, open=True, **timeouts)
    )
    try:
        with capture_logs() as logs, asyncio.Runner() as runner, served.http() as http:
            connection = runner.run(connect(database_url_of_module))
            yield Target(served, http, runner, connection)
            runner.run(connection.close())
        assert [line for line in logs if line["log_level"] in ("error", "critical")] == []
    finally:
        served.stop()
