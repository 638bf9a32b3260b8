"""Holds workflows with a fan-out, and reads the state of the fan-out."""

from __future__ import annotations

import json
from typing import Any

from support.hand import Hand
from tenax.model.wire import Assignment

RETRY = {"max_attempts": 3, "initial_delay": 1, "jitter": 0}
CALL = {"type": "python", "task": "t:t"}


def fan(for_each: Any, *more: dict[str, Any], top: dict[str, Any] | None = None, **keys: Any) -> str:
    """Returns a workflow whose step `each` has a fan-out. `more` are its other steps."""
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
    """Returns a failure that is not retried."""
    return await hand.fail(assignment, fatal=True, message=message)


async def each_of(hand: Hand, execution_id: int) -> dict[str, Any]:
    return (await hand.get(execution_id))["steps"]["each"]


async def counts(hand: Hand, execution_id: int) -> dict[str, int]:
    """Counts the items of `each` by state. Leaves out states without items."""
    told = (await each_of(hand, execution_id))["items"]
    return {state: n for state, n in told.items() if n}


async def told_of(hand: Hand, execution_id: int, item: int | None) -> list[tuple[str, int | None]]:
    """Returns the events of one item, or of the step if the item is None, with their attempts."""
    return [
        (e["type"], e["attempt"])
        for e in await hand.events(execution_id)
        if e["step"] == "each" and e["item"] == item
    ]


async def placed(hand: Hand) -> tuple[int, int]:
    """Returns the number of items with a slot, by their rows and by the counter."""
    [row] = await hand.sql(
        "select (select count(*) from tenax.item where stopped_by is distinct from 'slot') as there, (select sum(placed) from tenax.fan) as counted"
    )
    return row["there"], row["counted"]
