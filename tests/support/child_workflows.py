"""Holds workflows that start others, and reads the state of such families."""

from __future__ import annotations

from typing import Any

from support.hand import Hand

KID = "name: kid\nworkflow: [{step: x, type: python, task: 't:t'}]\n"
WORK = "name: work\nworkflow: [{step: do, type: python, task: 't:t'}]\n"
LEAF = """
name: leaf
input: {n: {type: integer, default: 0}}
outputs: {got: "{{ steps.do.result }}"}
workflow:
  - {step: do, type: python, task: "t:t", args: {n: "{{ input.n }}"}, retry: {max_attempts: 2, backoff: none}}
"""
MIDDLE = "name: middle\nworkflow: [{step: inner, type: workflow, workflow: leaf}]\n"
TOP = "name: top\nworkflow: [{step: outer, type: workflow, workflow: middle}]\n"


def calling(more: str = "", name: str = "leaf") -> str:
    return f"name: parent\nworkflow: [{{step: call, type: workflow, workflow: {name}{more}}}]\n"


async def begun(hand: Hand, source: str, **more: Any) -> int:
    """Submits a workflow, and starts its steps that the server carries out itself."""
    id_ = await hand.submit(source, **more)
    await hand.settle_down()
    return id_


async def awaiting(hand: Hand, id_: int) -> dict[tuple[str, int | None], tuple[object, ...]]:
    """By step and place, what its item waits for, in which attempt, and until when."""
    rows = await hand.sql(
        "select step, item_no, state, awaiting, attempt, expires_at from tenax.item where execution_id = $1",
        id_,
    )
    return {(row["step"], row["item_no"]): tuple(row)[2:] for row in rows}


async def three_levels(hand: Hand) -> list[int]:
    """Returns an execution, its child, and the child of that, whose only step can be leased."""
    await hand.engine.store_workflow(LEAF)
    await hand.engine.store_workflow(MIDDLE)
    top = await begun(hand, TOP)
    middle = await child_of(hand, top, "outer")
    return [top, middle, await child_of(hand, middle, "inner")]


async def children_of(hand: Hand, id_: int, step: str = "call") -> list[dict[str, Any]]:
    return (await hand.get(id_))["steps"][step]["children"]


async def child_of(hand: Hand, id_: int, step: str = "call") -> int:
    [child] = await children_of(hand, id_, step)
    return int(child["id"])


async def do(hand: Hand, result: Any = None) -> None:
    """Runs everything that is ready, and then everything that follows from it."""
    for assignment in await hand.lease():
        await hand.succeed(assignment, result)
    await hand.settle_down()


async def statuses(hand: Hand, ids: list[int]) -> list[str]:
    return [await hand.status(id_) for id_ in ids]
