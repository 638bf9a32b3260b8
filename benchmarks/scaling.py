"""Measures several servers and workers on one PostgreSQL: throughput, deadlocks, and what the sessions of PostgreSQL wait for."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from benchmarks import workflows
from benchmarks.arena import Arena, Round
from benchmarks.children import Child
from benchmarks.contestants import start_server
from benchmarks.load import submit_all
from benchmarks.plan import Plan
from benchmarks.processor import postmaster_of, seconds_of, seconds_of_family
from benchmarks.report import Figure, Mark
from benchmarks.worked import seconds_until_done
from tenax.sdk.client import Client
from tenax.store.connect import connect

MEASURE = "scaling"
SLOTS = 200
WARM_UP = 100
"""Jobs of each worker before the time is measured."""
NOT_LESS = Mark("at least", 0.85)
NONE = Mark("at most", 0)
_PATIENCE = 120.0
_SAMPLE_SECONDS = 0.02
_WAITS = """
select wait_event_type as kind, wait_event as name from pg_stat_activity
 where datname = current_database() and backend_type = 'client backend' and state <> 'idle' and pid <> pg_backend_pid()
"""
_HELD_BACK = "select clock_timestamp(), exists (select from tenax.item where state = 'leased')"
_DEADLOCKS = "select deadlocks from pg_stat_database where datname = current_database()"


@dataclass(frozen=True, slots=True)
class Crew:
    servers: int
    workers: int

    def __str__(self) -> str:
        return f"{_count(self.servers, 'server')}, {_count(self.workers, 'worker')}"

    def has_fewer_than(self, other: Crew) -> bool:
        return self != other and self.servers <= other.servers and self.workers <= other.workers


CREWS = (Crew(1, 1), Crew(1, 2), Crew(1, 4), Crew(1, 8), Crew(1, 16), Crew(2, 4), Crew(4, 4), Crew(4, 16))


@dataclass(frozen=True, slots=True)
class Seen:
    rate: float
    deadlocks: int
    processor: float
    """Microseconds of a core that all processes take for one job."""
    waits: Counter[str]
    """Counts what sessions waited for, for example `Lock:tuple`. `working` counts sessions that did not wait."""

    def share(self, kind: str) -> float:
        """Returns the percent of the busy sessions that waited for something of this kind."""
        some = sum(count for name, count in self.waits.items() if name.startswith(f"{kind}:"))
        return 100 * some / max(1, self.waits.total())


async def measure(arena: Arena, plan: Plan) -> list[Figure]:
    found: dict[Crew, list[Seen]] = {crew: [] for crew in CREWS}
    for n in plan.each_round(MEASURE, warm_up=False, most=2, figures=lambda: figures(found)):
        for crew in CREWS:
            seen = await _work(arena, plan, crew)
            found[crew].append(seen)
            most = ", ".join(f"{name} {count}" for name, count in seen.waits.most_common(4))
            plan.say(
                f"{MEASURE} round {n}: {crew}: {seen.rate:,.0f}/s, {seen.processor:.0f} µs a job; {most}"
            )
    return figures(found)


def figures(found: dict[Crew, list[Seen]]) -> list[Figure]:
    rates = {crew: [seen.rate for seen in some] for crew, some in found.items()}
    deadlocks = [sum(seen.deadlocks for seen in some) for some in zip(*found.values(), strict=True)]
    return [
        *(Figure(MEASURE, str(crew), "/s", tuple(values)) for crew, values in rates.items()),
        *(
            Figure(MEASURE, f"{crew} / the best with fewer", "", beside_fewer(rates, crew), NOT_LESS)
            for crew in rates
            if any(other.has_fewer_than(crew) for other in rates)
        ),
        Figure(MEASURE, "deadlocks", "", tuple(deadlocks), NONE),
        *_shares(found),
        *(
            Figure(MEASURE, f"processor time of a job, {crew}", "µs", tuple(seen.processor for seen in some))
            for crew, some in found.items()
        ),
    ]


def beside_fewer(rates: dict[Crew, list[float]], crew: Crew) -> tuple[float, ...]:
    """Returns for each round the rate, divided by the highest rate with at most as many servers and workers."""
    fewer = [values for other, values in rates.items() if other.has_fewer_than(crew)]
    return tuple(rate / max(others) for rate, *others in zip(rates[crew], *fewer, strict=True))


def _shares(found: dict[Crew, list[Seen]]) -> list[Figure]:
    kinds = {"Lock": "a lock of a row or table", "LWLock": "a lock within PostgreSQL", "IO": "the disk"}
    return [
        Figure(MEASURE, f"busy sessions that wait for {words}, {crew}", "%", tuple(seen.share(kind) for seen in some))
        for kind, words in kinds.items()
        for crew, some in found.items()
        if crew.workers in (1, 16)
    ]  # fmt: skip


async def _work(arena: Arena, plan: Plan, crew: Crew) -> Seen:
    """Pauses workers that have already worked while the jobs are submitted, and then resumes them together."""
    async with arena.round() as round_:
        servers = [await start_server(round_) for _ in range(crew.servers)]
        urls = [url for _, url in servers]
        workers = [await _worker(round_, urls, n) for n in range(crew.workers)]
        await round_.all_registered(crew.workers)
        postmaster = await postmaster_of(round_.connection)
        processes = [*(server for server, _ in servers), *workers]
        async with Client(urls[0]) as client:
            warm_up = WARM_UP * crew.workers
            await submit_all(client.submit_many, workflows.NOOP, warm_up, batch=100)
            await round_.until_none_open(_PATIENCE)
            await _each(client.pause_worker, crew.workers)
            await submit_all(client.submit_many, workflows.NOOP, plan.scaled, batch=100)
            await round_.settle()
            since, leased = await round_.connection.fetchrow(_HELD_BACK)
            assert not leased, "a paused worker was given work"
            before = _processor_seconds(postmaster, processes)
            going_on = asyncio.create_task(_each(client.resume_worker, crew.workers))
            waits, seconds = await _watched(round_, warm_up + plan.scaled, since)
            await going_on
        used = _processor_seconds(postmaster, processes) - before
        for worker in workers:  # at once, since there is nothing left to hand back
            await round_.children.kill(worker)
        deadlocks = await round_.connection.fetchval(_DEADLOCKS)
        return Seen(plan.scaled / seconds, deadlocks, 1e6 * used / plan.scaled, waits)


async def _worker(round_: Round, urls: Sequence[str], n: int) -> Child:
    """Starts a worker. Each begins with another server, and knows them all."""
    turned = [*urls[n % len(urls) :], *urls[: n % len(urls)]]
    options = ("--slots", str(SLOTS), "--name", f"w{n}", "--server", ",".join(turned))
    return await round_.children.start("worker", "tenax", "worker", "benchmarks.tasks", *options)


async def _each(verb: Callable[[str], Awaitable[Any]], workers: int) -> None:
    await asyncio.gather(*(verb(f"w{n}") for n in range(workers)))


def _processor_seconds(postmaster: int | None, processes: Sequence[Child]) -> float:
    of_postgres = seconds_of_family(postmaster) if postmaster is not None else 0.0
    return of_postgres + sum(seconds_of(process.pid) for process in processes)


async def _watched(round_: Round, jobs: int, since: datetime) -> tuple[Counter[str], float]:
    """Returns what the sessions waited for until the work was done, and how long that took."""
    waits: Counter[str] = Counter()

    async def look() -> None:
        connection = await connect(round_.url)
        try:
            while True:
                for row in await connection.fetch(_WAITS):
                    waits["working" if row["kind"] is None else f"{row['kind']}:{row['name']}"] += 1
                await asyncio.sleep(_SAMPLE_SECONDS)
        finally:
            connection.terminate()

    looking = asyncio.create_task(look())
    try:
        seconds = await seconds_until_done(round_, jobs, _PATIENCE, since=since)
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
    return waits, seconds


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
