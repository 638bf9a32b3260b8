"""Workflows with a fan-out, and what a test wants to know of one."""

from __future__ import annotations

import json
from typing import Any

from support.hand import Hand
from tenax.model.wire import Assignment

RETRY = {"max_attempts": 3, "initial_delay": 1, "jitter": 0}
CALL = {"type": "python", "task": "t:t"}


def fan(for_each: Any, *more: dict[str, Any], top: dict[str, Any] | None = None, **keys: Any) -> str:
    """A workflow whose step `each` spreads out; `more`: other steps of it."""
    each = {
        "step": "each",
        **CALL,
        "args": {"x": "{{ item }}", "at": "{{ index }}"},
        "for_each": for_each,
        **keys,
    }
    return json.dumps(
        {"name": "fan", **(top or {}), "workflow": [each, *({**CALL, **step} for step in more)]}
    )


def numbers(leased: list[Assignment]) -> list[int | None]:
    return sorted(a.item for a in leased if a.item is not None)


def by_item(leased: list[Assignment]) -> dict[int, Assignment]:
    return {a.item: a for a in leased if a.item is not None}


async def give_up(hand: Hand, assignment: Assignment, message: str = "no") -> Any:
    """A failure that is not retried."""
    return await hand.fail(assignment, fatal=True, message=message)


async def each_of(hand: Hand, execution_id: int) -> dict[str, Any]:
    return (await hand.get(execution_id))["steps"]["each"]


async def counts(hand: Hand, execution_id: int) -> dict[str, int]:
    """The items of `each` by state, without the states that none is in."""
    told = (await each_of(hand, execution_id))["items"]
    return {state: n for state, n in told.items() if n}


async def told_of(hand: Hand, execution_id: int, item: int | None) -> list[tuple[str, int | None]]:
    """The events of one item (None: of the step) with their attempts."""
    return [
        (e["type"], e["attempt"])
        for e in await hand.events(execution_id)
        if e["step"] == "each" and e["item"] == item
    ]


async def placed(hand: Hand) -> tuple[int, int]:
    """How many items hold a place: as they say, and as it is counted."""
    [row] = await hand.sql(
        "select (select count(*) from tenax.item where stopped_by is distinct from 'slot') as there, (select sum(placed) from tenax.fan) as counted"
    )
    return row["there"], row["counted"]
