"""Runs a round of a peer: enqueues its jobs, lets two worker processes through the gate, and counts what they ran."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.arena import Arena, Round
from benchmarks.children import Child, ChildFailed
from benchmarks.peers.registry import ReadyPeer

Kind = Literal["noop", "fails", "scheduled"]
WORKERS = 2
ATTEMPTS: Mapping[Kind, int] = {"noop": 1, "fails": 3, "scheduled": 1}
_PATIENCE = 180.0
_POLL_SECONDS = 0.05
_BROKER_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Played:
    """Holds the result of a round. Times are of the machine's clock."""

    first: float
    """The time of the first start of a job."""
    last: float
    """The time of the last start of a job."""
    ended: float
    """The time at which no job was open any more, late by one poll at most, as for Tenax."""
    late: Sequence[float]
    """The seconds from the due time to the start of every retry."""

    @property
    def seconds(self) -> float:
        return self.ended - self.first


async def play(arena: Arena, ready: ReadyPeer, kind: Kind, jobs: int) -> Played:
    async with arena.round() as round_:
        await fill(round_, ready, kind, jobs)
        return await work(round_, ready, kind, jobs)


async def fill(round_: Round, ready: ReadyPeer, kind: Kind, jobs: int) -> None:
    if ready.peer.program is not None:
        await _start_broker(round_, ready.peer.program)
    await (await _start(round_, ready, "fill", kind, str(jobs))).ended(_PATIENCE)


async def work(
    round_: Round,
    ready: ReadyPeer,
    kind: Kind,
    jobs: int,
    prepare: Callable[[], Awaitable[None]] | None = None,
) -> Played:
    """Runs the workers and a watcher until all is done. Raises an error if a job was lost or ran too often.

    All preparations are done when all processes are at the gate.
    """
    workers = [await _start(round_, ready, "work", kind) for _ in range(WORKERS)]
    watching = await _start(round_, ready, "watch")
    await round_.all_at_gate(WORKERS + 1)
    if prepare is not None:
        await prepare()
    await round_.settle()
    round_.open_gate()
    async with asyncio.timeout(_PATIENCE):
        while watching.process.returncode is None:
            round_.children.check()
            await asyncio.sleep(_POLL_SECONDS)
    seen = last_words(watching)
    for worker in workers:
        await round_.children.stop(worker)
    return played(ready.name, seen, [last_words(worker) for worker in workers], jobs, ATTEMPTS[kind])


async def _start(round_: Round, ready: ReadyPeer, *arguments: str) -> Child:
    command = (str(ready.python), str(ready.peer.script), *arguments)
    return await round_.children.start(ready.name, "benchmarks.peers.become", *command)


async def _start_broker(round_: Round, program: str) -> None:
    """Starts a Redis for the round that stores nothing. It has no port, and its socket is in the round's folder."""
    socket = round_.gate.parent / "redis.sock"
    options = ("--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "no")
    await round_.children.start(program, "benchmarks.peers.become", program, *options)
    async with asyncio.timeout(_BROKER_SECONDS):
        while not socket.exists():
            round_.children.check()
            await asyncio.sleep(_POLL_SECONDS)


def last_words(child: Child) -> dict[str, Any]:
    """Returns the last line of the output, since libraries may have written lines before."""
    child.check()
    line = child.said().rstrip().rpartition("\n")[2]
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ChildFailed(f"{child.name}: its last line is no result:\n{child.said()[-2000:]}")
    return found


def played(
    name: str, seen: Mapping[str, Any], records: Sequence[Mapping[str, Any]], jobs: int, attempts: int
) -> Played:
    ran = Counter(job for record in records for job in record["jobs"])
    wrong = sum(1 for times in ran.values() if times != attempts)
    if len(ran) != jobs or wrong or seen["succeeded"] != jobs:
        raise ChildFailed(
            f"{name}: of {jobs:,} jobs {len(ran):,} ran, {wrong:,} of them not {attempts} times,"
            f" and {seen['succeeded']:,} succeeded: such a round counts for nothing"
        )
    at_work = [record for record in records if record["jobs"]]
    return Played(
        first=min(record["first"] for record in at_work),
        last=max(record["last"] for record in at_work),
        ended=seen["ended"],
        late=[late for record in records for late in record["late"]],
    )
