"""Runs Tenax in its two forms. Both run the same definitions, and the measures do not know which form they measure.

The peers, which run jobs of their own, are in `benchmarks.peers`.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from benchmarks import workflows
from benchmarks.arena import Round
from benchmarks.children import Child
from benchmarks.load import Submit, submit_all, submit_steadily
from tenax.embed import open_engine
from tenax.sdk.client import Client
from tenax.settings import load_settings

SLOTS = 500


class Contestant(Protocol):
    @property
    def name(self) -> str: ...

    async def fill(self, round_: Round, source: str, jobs: int) -> float:
        """Submits jobs while there is no worker. Returns the submissions per second."""
        ...

    async def work(self, round_: Round) -> None:
        """Starts all workers at the same instant, and returns at that instant."""
        ...

    async def steady(self, round_: Round, source_name: str, *, rate: float, seconds: float) -> None:
        """Starts workers, and submits at a steady rate. Returns when all jobs are submitted."""
        ...


@dataclass(frozen=True, slots=True)
class InProcess:
    """Runs engine and worker in one process, and several such processes on one database."""

    processes: int = 2

    @property
    def name(self) -> str:
        return f"in-process, {self.processes} process{'es' if self.processes > 1 else ''}"

    async def fill(self, round_: Round, source: str, jobs: int) -> float:
        async with open_engine(load_settings({"database_url": round_.url}, env={})) as engine:
            return await submit_all(engine.submit, source, jobs, batch=500)

    async def work(self, round_: Round) -> None:
        for _ in range(self.processes):
            await round_.children.start("inprocess", "benchmarks.inprocess", "--slots", str(SLOTS))
        await round_.all_at_gate(self.processes)
        await round_.settle()
        round_.open_gate()

    async def steady(self, round_: Round, source_name: str, *, rate: float, seconds: float) -> None:
        """Lets one of the processes submit to its own engine, as an application that embeds Tenax does."""
        for _ in range(self.processes - 1):
            await round_.children.start("inprocess", "benchmarks.inprocess", "--slots", str(SLOTS))
        options = ("--source", source_name, "--rate", str(rate), "--seconds", str(seconds))
        child = await round_.children.start("inprocess", "benchmarks.inprocess", *options)
        await round_.all_at_gate(self.processes)
        round_.open_gate()
        await round_.children.hears(child, "submitted", seconds + 60)


@dataclass(frozen=True, slots=True)
class OverHttp:
    """Runs a server and workers as processes, by the commands with which users start them."""

    workers: int = 2

    @property
    def name(self) -> str:
        return f"over HTTP, {self.workers} workers"

    async def fill(self, round_: Round, source: str, jobs: int) -> float:
        async with self._client((await start_server(round_))[1]) as submit:
            return await submit_all(submit, source, jobs, batch=100)

    async def work(self, round_: Round) -> None:
        await self._workers(round_)
        await round_.settle()
        round_.open_gate()

    async def steady(self, round_: Round, source_name: str, *, rate: float, seconds: float) -> None:
        _, url = await start_server(round_)
        await self._workers(round_)
        round_.open_gate()
        await round_.all_registered(self.workers)
        async with self._client(url) as submit:
            source = getattr(workflows, source_name)
            await submit_steadily(
                submit, source, rate=rate, seconds=seconds, stamped=source_name == "STAMPED"
            )

    async def _workers(self, round_: Round) -> None:
        for _ in range(self.workers):
            await start_worker(round_)
        await round_.all_at_gate(self.workers)

    @contextlib.asynccontextmanager
    async def _client(self, url: str) -> AsyncIterator[Submit]:
        async with Client(url) as client:
            yield client.submit_many


async def start_server(round_: Round) -> tuple[Child, str]:
    """Starts a server. Returns its process and its address."""
    child = await round_.children.start("server", "tenax", "server", TENAX_PORT="0")
    line = await round_.children.hears(child, "listening on ")
    url = line.rpartition("listening on ")[2].strip()
    (round_.gate.parent / "server").write_text(url)
    return child, url


async def start_worker(round_: Round) -> Child:
    url = (round_.gate.parent / "server").read_text()
    command = ("tenax", "worker", "benchmarks.gated_tasks", "--slots", str(SLOTS))
    return await round_.children.start("worker", *command, TENAX_SERVER=url)
