"""Measures what the requests and heartbeats of a hundred idle workers cost the server and PostgreSQL."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from benchmarks.arena import Arena
from benchmarks.contestants import start_server
from benchmarks.plan import Plan
from benchmarks.processor import postmaster_of, seconds_of, seconds_of_family
from benchmarks.report import Figure, Mark

MEASURE = "idle"
WORKERS, PROCESSES = 100, 2
LITTLE = Mark("at most", 3)
_SETTLING_SECONDS = 5.0


@dataclass(slots=True)
class Found:
    """Holds the percent of a core, window by window."""

    server: list[float] = field(default_factory=list)
    postgres: list[float] = field(default_factory=list)


async def measure(arena: Arena, plan: Plan) -> list[Figure]:
    found = Found()
    async with arena.round() as round_:
        server, url = await start_server(round_)
        for _ in range(PROCESSES):
            options = ("--server", url, "--count", str(WORKERS // PROCESSES))
            await round_.children.start("idle", "benchmarks.idle_workers", *options)
        await round_.all_registered(WORKERS)
        postmaster = await postmaster_of(round_.connection)
        if postmaster is None:
            plan.say(f"{MEASURE}: PostgreSQL runs on another machine: what it takes is not seen")
        await asyncio.sleep(_SETTLING_SECONDS)
        for n in plan.each_round(MEASURE, warm_up=False, most=3, figures=lambda: _figures(found, plan)):
            await _window(server.pid, postmaster, plan.idle_seconds, found)
            round_.children.check()
            postgres = f", PostgreSQL {found.postgres[-1]:.2f} %" if postmaster else ""
            plan.say(f"{MEASURE} round {n}: server {found.server[-1]:.2f} % of a core{postgres}")
        active = await round_.connection.fetchval("select count(*) from tenax.worker where state = 'active'")
        assert active == WORKERS, f"{active} of {WORKERS} workers are there"
    return _figures(found, plan)


def _figures(found: Found, plan: Plan) -> list[Figure]:
    note = f"over {plan.idle_seconds:g} s"
    sides = {"the server": found.server, "PostgreSQL": found.postgres}
    return [
        Figure(MEASURE, f"{WORKERS} idle workers, {name}", "% of a core", tuple(values), LITTLE, note)
        for name, values in sides.items()
        if values
    ]


async def _window(server: int, postmaster: int | None, seconds: float, found: Found) -> None:
    def used() -> tuple[float, float]:
        return seconds_of(server), seconds_of_family(postmaster) if postmaster else 0.0

    begun, before = time.monotonic(), used()
    await asyncio.sleep(seconds)
    after, took = used(), time.monotonic() - begun
    found.server.append(100 * (after[0] - before[0]) / took)
    if postmaster:
        found.postgres.append(100 * (after[1] - before[1]) / took)
