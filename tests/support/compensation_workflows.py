"""Holds workflows with compensations, and reads their state."""

from __future__ import annotations

from typing import Any

from support.hand import Hand
from tenax.model.wire import Assignment

UNDO = """compensate: {type: python, task: "t:undo", args: {undo: "{{ result }}"},
                 retry: {max_attempts: 2, initial_delay: 5s, jitter: 0, infra_attempts: 0}}"""
CHAIN = f"""
name: trip
workflow:
  - {{step: a, type: python, task: "t:t", {UNDO}}}
  - {{step: b, type: python, task: "t:t", needs: [a], {UNDO}}}
  - {{step: c, type: python, task: "t:t", needs: [b], {UNDO}}}
  - {{step: d, type: python, task: "t:t", needs: [c], {UNDO}}}
"""
FAN_OUT = """
name: many
workflow:
  - step: each
    type: python
    task: t:t
    for_each: [x, y, z]
    parallelism: 3
    compensate: {type: python, task: "t:undo", args: {item: "{{ item }}", index: "{{ index }}", got: "{{ result }}"}}
  - {step: last, type: python, task: "t:t", needs: [each]}
"""
PARALLEL = f"""
name: trip
workflow:
  - {{step: a, type: python, task: "t:t", {UNDO}}}
  - {{step: b, type: python, task: "t:t", {UNDO}}}
  - {{step: c, type: python, task: "t:t"}}
"""


PATIENT_UNDO = """
name: trip
workflow:
  - step: a
    type: python
    task: t:t
    compensate: {type: python, task: "t:undo", retry: {max_attempts: unlimited, backoff: none}}
  - {step: b, type: python, task: "t:t", needs: [a]}
"""


async def failed_at_b(hand: Hand, worker: str) -> int:
    """Runs until a has succeeded and b has failed for good. Then a is being undone, as often as it takes."""
    id_ = await hand.submit(PATIENT_UNDO)
    await hand.succeed(await hand.lease_one(worker))
    await hand.fail(await hand.lease_one(worker), fatal=True)
    return id_


async def failed_at_d(hand: Hand, source: str = CHAIN, **more: Any) -> int:
    """Runs until a, b and c have succeeded and d has failed for good."""
    id_ = await hand.submit(source, **more)
    for step in "abc":
        await hand.succeed(await hand.lease_one(), f"done {step}")
    await hand.fail(await hand.lease_one(), status_code=404)
    return id_


async def undo_next(hand: Hand, step: str) -> Assignment:
    """Leases the next compensation. It must be the only thing that can be leased."""
    assignment = await hand.lease_one()
    assert (assignment.step, assignment.compensates) == (step, True)
    return assignment


async def undo_all(hand: Hand) -> list[str]:
    undone = []
    while found := await hand.lease():
        [assignment] = found
        assert assignment.compensates
        undone.append(assignment.step)
        await hand.succeed(assignment)
    return undone


async def told(hand: Hand, id_: int, after: str = "execution_compensating") -> list[tuple[str, str | None]]:
    events = await hand.events(id_)
    start = next(n for n, e in enumerate(events) if e["type"] == after)
    return [(e["type"], e["step"]) for e in events[start:]]


async def standing(hand: Hand, id_: int) -> tuple[str, str | None]:
    execution = await hand.get(id_)
    return execution["status"], execution["compensation"]


async def compensation_of(hand: Hand, id_: int, step: str) -> dict[str, Any]:
    return (await hand.get(id_))["steps"][step]["compensation"]
