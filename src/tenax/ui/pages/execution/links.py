"""Gives the addresses of an execution and of its parts."""

from __future__ import annotations

from urllib.parse import quote

from tenax.drawing.links import Link, Target
from tenax.ui.words import query


def execution_address(execution_id: int) -> str:
    return f"/executions/{execution_id}"


def step_address(execution_id: int, step: str) -> str:
    return f"/executions/{execution_id}/steps/{quote(step, safe='')}"


def items_address(execution_id: int, step: str, *, state: str | None = None, after: int | None = None) -> str:
    """Returns the address of a fan-out's items: those in a state, and those after an item."""
    if after is not None and after < 0:
        after = None
    return f"{step_address(execution_id, step)}/items{query(state=state, after=after)}"


def item_address(execution_id: int, step: str, item: int) -> str:
    return f"{step_address(execution_id, step)}/items/{item}"


def decisions_address(execution_id: int, step: str, item: int | None, attempt: int) -> str:
    """Returns the address of the decisions on an attempt."""
    return f"{execution_address(execution_id)}/decisions{query(step=step, item=item, attempt=attempt)}"


def tabs_of(execution_id: int) -> list[tuple[str, str]]:
    """Returns the names and addresses of the parts of an execution's page."""
    here = execution_address(execution_id)
    return [
        ("Overview", here),
        ("Attempts", f"{here}/attempts"),
        ("Logs", f"{here}/logs"),
        ("Events", f"{here}/events"),
        ("Decisions", f"{here}/decisions"),
        ("Input & result", f"{here}/data"),
    ]


def drawing_link(execution_id: int) -> Link:
    """Returns the addresses of the parts of drawings of an execution."""

    def link(target: Target) -> str | None:
        if target.seq is not None:
            return f"{execution_address(execution_id)}/events"
        if target.child is not None:
            return execution_address(target.child)
        return None if target.step is None else _part_of_step(execution_id, target.step, target)

    return link


def _part_of_step(execution_id: int, step: str, target: Target) -> str:
    attempt = "" if target.attempt is None else f"#attempt-{target.attempt}"
    if target.compensation:
        return f"{step_address(execution_id, step)}#compensation"
    if target.last_item is not None and target.item is not None:
        return items_address(execution_id, step, after=target.item - 1)
    if target.item is not None:
        return f"{item_address(execution_id, step, target.item)}{attempt}"
    if target.state is not None:
        return items_address(execution_id, step, state=target.state)
    return f"{step_address(execution_id, step)}{attempt}"
