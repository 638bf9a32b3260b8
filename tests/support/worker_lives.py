"""Drives workers that run, fail and die, and reads their state."""

from __future__ import annotations

import uuid
from typing import Any

from support.hand import Hand
from tenax.model.json_text import decode
from tenax.model.wire import Assignment

PATIENT = """
name: patient
workflow:
  - step: only
    type: python
    task: some:task
    retry: {max_attempts: unlimited, backoff: none}
"""
BROKEN = {"exception": "mylib.Broken", "message": "broken"}
"""The outcome of an exception that nothing else classifies."""


def new_life() -> str:
    return str(uuid.uuid4())


async def arrive(hand: Hand, *names: str, **more: Any) -> None:
    """Starts these workers, each with a life of its own."""
    for name in names:
        await hand.register(name, life=new_life(), **more)
    await hand.look()


async def live(hand: Hand, seconds: float, *names: str, holding: tuple[Assignment, ...] = ()) -> None:
    """Lets time pass while these workers send heartbeats and the server does its periodic work. Everything expires that is due."""
    while seconds > 0:
        await hand.clock.advance(min(seconds, 10))
        await hand.engine.beat()
        for name in names:
            await hand.beat(*holding, worker=name)
        await hand.settle_down()
        await hand.look()
        seconds -= 10


async def take(hand: Hand, worker: str) -> Assignment:
    """Leases one item to this worker."""
    [assignment] = await hand.lease(worker, slots=1)
    return assignment


async def crash(hand: Hand, worker: str, **more: Any) -> Assignment:
    """Lets the worker lease an item, die of it, and start again at once."""
    lost = await take(hand, worker)
    await hand.clock.advance(1)
    await arrive(hand, worker, **more)
    return lost


async def crash_often(hand: Hand, worker: str, times: int = 5) -> None:
    """Lets the worker die over several new items. After five deaths the server drains it."""
    for _ in range(times):
        await hand.submit(PATIENT)
        await crash(hand, worker)


async def pass_probe(hand: Hand, worker: str) -> None:
    """Lets an unhealthy worker succeed with its probe, and recover."""
    probe = await hand.lease_one(worker)
    await hand.clock.advance(1)
    await hand.succeed(probe)
    await hand.look()
    assert await health(hand, worker) == ("degraded", "recovering")


async def fail_often(hand: Hand, worker: str, times: int, **facts: Any) -> None:
    for _ in range(times):
        await hand.fail(await take(hand, worker), **(facts or BROKEN))
    await hand.look()


async def health(hand: Hand, worker: str) -> tuple[str, str | None]:
    """Returns the health of a worker, and the column that decided."""
    told = await hand.engine.worker(worker)
    return told.health, told.health_column


async def fleet_events(hand: Hand, kind: str, worker: str) -> list[dict[str, Any]]:
    """Returns the data of a worker's events of one type, the oldest first."""
    rows = await hand.sql(
        "select data from tenax.event where execution_id is null and type = $1 and data ->> 'worker' = $2 order by id",
        kind,
        worker,
    )
    return [decode(row["data"]) for row in rows]


async def changes(hand: Hand, worker: str) -> list[tuple[str, str, str | None]]:
    """Returns each change of a worker's health: from, to, and the column that decided."""
    return [
        (e["from"], e["to"], e["column"]) for e in await fleet_events(hand, "worker_health_changed", worker)
    ]
