"""Workers that run, fail and die, and what a test wants to know of them."""

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
"""What an exception that nothing else classifies comes to."""


def new_life() -> str:
    return str(uuid.uuid4())


async def arrive(hand: Hand, *names: str, **more: Any) -> None:
    """These workers start, each with a life of its own."""
    for name in names:
        await hand.register(name, life=new_life(), **more)
    await hand.look()


async def live(hand: Hand, seconds: float, *names: str, holding: tuple[Assignment, ...] = ()) -> None:
    """Time in which these workers send their heartbeats, and the server does what it does. What runs out, runs out."""
    while seconds > 0:
        await hand.clock.advance(min(seconds, 10))
        await hand.engine.beat()
        for name in names:
            await hand.beat(*holding, worker=name)
        await hand.settle_down()
        await hand.look()
        seconds -= 10


async def take(hand: Hand, worker: str) -> Assignment:
    """One item for this worker."""
    [assignment] = await hand.lease(worker, slots=1)
    return assignment


async def crash(hand: Hand, worker: str, **more: Any) -> Assignment:
    """It takes an item, dies of it, and starts again at once."""
    lost = await take(hand, worker)
    await hand.clock.advance(1)
    await arrive(hand, worker, **more)
    return lost


async def crash_often(hand: Hand, worker: str, times: int = 5) -> None:
    """It dies over one new item after the other. Five times are enough for the server to drain it."""
    for _ in range(times):
        await hand.submit(PATIENT)
        await crash(hand, worker)


async def pass_probe(hand: Hand, worker: str) -> None:
    """An unhealthy worker whose time has come succeeds with its probe, and recovers."""
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
    """How it stands, and the column that decided."""
    told = await hand.engine.worker(worker)
    return told.health, told.health_column


async def fleet_events(hand: Hand, kind: str, worker: str) -> list[dict[str, Any]]:
    """The data of a worker's events of a kind, the oldest first."""
    rows = await hand.sql(
        "select data from tenax.event where execution_id is null and type = $1 and data ->> 'worker' = $2 order by id",
        kind,
        worker,
    )
    return [decode(row["data"]) for row in rows]


async def changes(hand: Hand, worker: str) -> list[tuple[str, str, str | None]]:
    """Each change of its health: from, to, and the column that decided."""
    return [
        (e["from"], e["to"], e["column"]) for e in await fleet_events(hand, "worker_health_changed", worker)
    ]
