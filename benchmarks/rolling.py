"""Measures a restart of all servers and workers one after the other, and the kill of a worker, under a steady load."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

from benchmarks import workflows
from benchmarks.arena import Arena, Round
from benchmarks.children import Child
from benchmarks.plan import Plan
from benchmarks.report import Figure, Mark
from benchmarks.stats import Tail, longest_gap
from tenax.errors import Unreachable
from tenax.model.wire import Submission
from tenax.sdk.client import Client

MEASURE = "rolling"
SERVERS, WORKERS, SLOTS = 2, 3, 20
RATE = 200.0
LEASE = 5.0
NONE = Mark("at most", 0)
SOON = Mark("at most", 1.0)
_WARM_UP = 2.0
_PATIENCE = 60.0
_POLL_SECONDS = 0.05

_ENDS = """
select extract(epoch from finished_at)::double precision as ended,
       (input ->> 'submitted')::double precision as submitted
  from tenax.execution
 where state = 'completed'
 order by finished_at
"""
_COUNTED = "select count(*) from tenax.event where type in ('action_error', 'lease_expired')"
_HANDED_BACK = "select count(*) from tenax.event where type = 'lease_released'"
_LOST = """
select extract(epoch from at)::double precision as at from tenax.event where type = 'lease_expired'
"""
_HELD = "select count(*) from tenax.item where state = 'leased' and worker = $1"


@dataclass(frozen=True, slots=True)
class Restart:
    """Records the effect of a rolling restart on the load."""

    submitted: int
    not_completed: int
    counted: int
    handed_back: int
    gap: float
    """The most seconds between two completions."""
    seconds: float
    before: Tail
    during: Tail


@dataclass(frozen=True, slots=True)
class Kill:
    """Records the effect of the kill of a worker on the load."""

    held: int
    not_completed: int
    decided_after: float
    gap: float


async def measure(arena: Arena, plan: Plan) -> list[Figure]:
    restarts: list[Restart] = []
    kills: list[Kill] = []

    def figures() -> list[Figure]:
        return [*_restart_figures(restarts), *_kill_figures(kills)]

    for n in plan.each_round(MEASURE, warm_up=False, most=3, figures=figures):
        restarts.append(await _restart(arena, plan))
        plan.say(f"{MEASURE} round {n}: {_in_words(restarts[-1])}")
        kills.append(await _kill(arena))
        plan.say(
            f"{MEASURE} round {n}: a worker killed with {kills[-1].held} items: decided"
            f" {kills[-1].decided_after:.1f} s later, longest gap {1000 * kills[-1].gap:.0f} ms"
        )
    return figures()


def _in_words(one: Restart) -> str:
    return (
        f"{one.submitted:,} executions while everything restarted in {one.seconds:.1f} s, {one.not_completed} not completed,"
        f" {one.counted} attempts counted, {one.handed_back} handed back, longest gap {1000 * one.gap:.0f} ms,"
        f" p50 {one.during.p50:.0f} ms, p99 {one.during.p99:.0f} ms"
    )


def _restart_figures(found: list[Restart]) -> list[Figure]:
    def figure(name: str, unit: str, values: list[float], mark: Mark | None = None) -> Figure:
        return Figure(MEASURE, name, unit, tuple(values), mark)

    what = f"{SERVERS} servers, {WORKERS} workers, {RATE:g} executions/s"
    return [
        figure(f"restart of all, {what}: took", "s", [one.seconds for one in found]),
        figure("executions submitted", "", [one.submitted for one in found]),
        figure("executions not completed", "", [one.not_completed for one in found], NONE),
        figure("attempts counted beyond the first", "", [one.counted for one in found], NONE),
        figure("attempts handed back, uncounted", "", [one.handed_back for one in found]),
        figure("longest time without a completion", "ms", [1000 * one.gap for one in found]),
        figure("submit to end before it, p50", "ms", [one.before.p50 for one in found]),
        figure("submit to end before it, p99", "ms", [one.before.p99 for one in found]),
        figure("submit to end during it, p50", "ms", [one.during.p50 for one in found]),
        figure("submit to end during it, p99", "ms", [one.during.p99 for one in found]),
    ]


def _kill_figures(found: list[Kill]) -> list[Figure]:
    return [
        Figure(MEASURE, "items that a killed worker had", "", tuple(one.held for one in found)),
        Figure(
            MEASURE, f"decided later than a lease ({LEASE:g} s) after the kill", "s",
            tuple(max(0.0, one.decided_after - LEASE) for one in found), SOON,
        ),
        Figure(MEASURE, "executions not completed after the kill", "", tuple(one.not_completed for one in found), NONE),
        Figure(MEASURE, "longest time without a completion after it", "ms", tuple(1000 * one.gap for one in found)),
    ]  # fmt: skip


async def _restart(arena: Arena, plan: Plan) -> Restart:
    async with arena.round() as round_, _crew(round_) as crew:
        async with _load(crew.url) as load:
            await asyncio.sleep(_WARM_UP)
            warm = time.time()
            await asyncio.sleep(plan.seconds / 2)
            begun = time.time()
            for number in range(SERVERS):
                await crew.restart_server(number)
            for number in range(WORKERS):
                await crew.restart_worker(number)
            over = time.time()
            await asyncio.sleep(1.0)
        await round_.until_none_open(_PATIENCE)
        ends = await _ends(round_)
        return Restart(
            load.submitted,
            load.submitted - len(ends),
            await round_.connection.fetchval(_COUNTED),
            await round_.connection.fetchval(_HANDED_BACK),
            longest_gap([end for end, _ in ends], begun, over + 1.0),
            over - begun,
            Tail.of_seconds([end - at for end, at in ends if warm <= at < begun]),
            Tail.of_seconds([end - at for end, at in ends if begun <= at < over]),
        )


async def _kill(arena: Arena) -> Kill:
    async with arena.round() as round_, _crew(round_) as crew:
        async with _load(crew.url) as load:
            await asyncio.sleep(_WARM_UP)
            killed = time.time()
            await round_.children.kill(crew.workers[0])
            held = await round_.connection.fetchval(_HELD, "w0")
            await asyncio.sleep(LEASE + 1.0)
            over = time.time()
        await round_.until_none_open(_PATIENCE)
        ends = await _ends(round_)
        lost = [row["at"] for row in await round_.connection.fetch(_LOST)]
        assert lost, "the killed worker lost nothing: nothing was measured"
        return Kill(
            held,
            load.submitted - len(ends),
            max(lost) - killed,
            longest_gap([end for end, _ in ends], killed, over),
        )


async def _ends(round_: Round) -> list[tuple[float, float]]:
    """Returns for each completed execution when it ended, and when it was due to be submitted."""
    return [(row["ended"], row["submitted"]) for row in await round_.connection.fetch(_ENDS)]


class _Crew:
    """Runs the servers and workers of a round. Each keeps its address or its name through all restarts."""

    def __init__(self, round_: Round) -> None:
        self._round = round_
        self._ports = [_free_port() for _ in range(SERVERS)]
        self.url = ",".join(f"http://127.0.0.1:{port}" for port in self._ports)
        self.servers: list[Child] = []
        self.workers: list[Child] = []

    async def start(self) -> None:
        self.servers = [await self._server(number) for number in range(SERVERS)]
        self.workers = [await self._worker(number) for number in range(WORKERS)]
        await self._round.all_registered(WORKERS)

    async def restart_server(self, number: int) -> None:
        await self._round.children.stop(self.servers[number])
        self.servers[number] = await self._server(number)

    async def restart_worker(self, number: int) -> None:
        await self._round.children.stop(self.workers[number])
        self.workers[number] = await self._worker(number)
        here = "select count(*) from tenax.worker where state = 'active'"
        async with asyncio.timeout(_PATIENCE):
            while await self._round.connection.fetchval(here) < WORKERS:
                self._round.children.check()
                await asyncio.sleep(_POLL_SECONDS)

    async def _server(self, number: int) -> Child:
        port = str(self._ports[number])
        child = await self._round.children.start("server", "tenax", "server", TENAX_PORT=port, **_TERMS)
        await self._round.children.hears(child, "listening on ")
        return child

    async def _worker(self, number: int) -> Child:
        options = ("--slots", str(SLOTS), "--name", f"w{number}", "--server", self.url)
        return await self._round.children.start("worker", "tenax", "worker", "benchmarks.tasks", *options)


_TERMS = {"TENAX_LEASE": f"{LEASE:g}s"}


@contextlib.asynccontextmanager
async def _crew(round_: Round) -> AsyncIterator[_Crew]:
    crew = _Crew(round_)
    await crew.start()
    yield crew


class _Load:
    """Submits in an open loop: the n-th submission starts at its time. It is repeated with the same key until it is answered."""

    def __init__(self, url: str) -> None:
        self.submitted = 0
        self.over = asyncio.Event()
        self._client = Client(url)

    async def run(self) -> None:
        loop, begun, started = asyncio.get_running_loop(), time.time(), asyncio.get_running_loop().time()
        async with self._client, asyncio.TaskGroup() as group:
            while not self.over.is_set():
                n, self.submitted = self.submitted, self.submitted + 1
                group.create_task(self._one(n, begun + n / RATE))
                await asyncio.sleep(started + (n + 1) / RATE - loop.time())

    async def _one(self, n: int, at: float) -> None:
        submission = Submission(source=workflows.ROLLING, input={"submitted": at}, key=f"load-{n}")
        while True:
            try:
                await self._client.submit_many([submission])
            except Unreachable:
                await asyncio.sleep(_POLL_SECONDS)
            else:
                return


@contextlib.asynccontextmanager
async def _load(url: str) -> AsyncIterator[_Load]:
    """Runs the load during the block. At its end, all submissions have been accepted."""
    load = _Load(url)
    async with asyncio.timeout(10 * _PATIENCE), asyncio.TaskGroup() as group:
        group.create_task(load.run())
        try:
            yield load
        finally:
            load.over.set()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
