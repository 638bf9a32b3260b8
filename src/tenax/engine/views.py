"""What people see of executions."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from tenax.engine.core import Core, no_execution
from tenax.errors import NotFound
from tenax.model.events import timestamp
from tenax.model.state import fold
from tenax.policy.explain import explain_decision
from tenax.store import executions
from tenax.store.connect import Connection
from tenax.store.events import get_events, get_settled_events

LOOK_AGAIN = 0.25
"""Seconds between two looks of one who follows an execution of which no news comes."""
_TIMES = ("created_at", "deadline_at", "finished_at")


async def get(core: Core, execution_id: int) -> dict[str, Any]:
    """One execution with its steps, folded from its events."""
    async with core.transaction() as tx:
        row = await executions.get_execution(tx, execution_id)
        if row is None:
            raise no_execution(execution_id)
        await core.plans.load(tx, [row["plan_id"]])
        events = await get_events(tx, execution_id)
    plan = core.plans[row["plan_id"]]
    state = fold(events, list(plan.steps))
    steps = {name: step.as_dict() for name, step in state.steps.items()}
    for name, planned in plan.steps.items():
        steps[name] |= {"type": planned.step.type, "needs": list(planned.step.needs)}
        if steps[name]["max_attempts"] is None:
            steps[name]["max_attempts"] = planned.policy.policy.max_attempts
    return {
        "id": row["id"],
        "status": row["state"],
        "workflow": row["workflow"],
        "version": row["version"],
        "input": row["input"] or {},
        "result": row["result"],
        "failure": row["failure"],
        "key": row["submit_key"],
        "retry_of": row["retry_of"],
        "original_execution": row["original_execution"],
        **{name: timestamp(row[name]) for name in _TIMES},
        "now": timestamp(row["now"]),
        "last_seq": events[-1]["seq"] if events else 0,
        "steps": steps,
    }


async def list_(
    core: Core,
    *,
    states: Sequence[str] | None = None,
    workflow: str | None = None,
    since: datetime | None = None,
    before: int | None = None,
    limit: int = 50,
) -> list[dict[str, Any]]:
    async with core.transaction() as tx:
        rows = await executions.list_executions(
            tx, states=states, workflow=workflow, since=since, before=before, limit=limit
        )
    return [
        {
            "id": row["id"],
            "workflow": row["workflow"],
            "version": row["version"],
            "status": row["state"],
            "failure": row["failure"],
            "created_at": timestamp(row["created_at"]),
            "finished_at": timestamp(row["finished_at"]),
            "retry_of": row["retry_of"],
            "waiting": row["waiting"],
        }
        for row in rows
    ]


async def events(core: Core, execution_id: int, *, after: int = 0, wait: float = 0.0) -> list[dict[str, Any]]:
    """The events after a sequence number. With `wait`, up to so many seconds until there is one.

    Who waits comes back for the rest, so it is given only what nothing can get in front of any more.
    """
    if wait <= 0:
        return await _events(core, execution_id, after)
    async with core.hub.following(execution_id) as changed:
        found = await _settled_events(core, execution_id, after)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait):
                while not found:
                    await _changed(changed)
                    found = await _settled_events(core, execution_id, after)
        return found


async def _changed(changed: asyncio.Event) -> None:
    """News of the execution; or a moment, for what was left out because an older transaction was under way."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LOOK_AGAIN):
            await changed.wait()
    changed.clear()


async def _events(core: Core, execution_id: int, after: int = 0) -> list[dict[str, Any]]:
    async with core.transaction() as tx:
        return await _known(tx, execution_id, await get_events(tx, execution_id, after))


async def _settled_events(core: Core, execution_id: int, after: int) -> list[dict[str, Any]]:
    async with core.transaction() as tx:
        return await _known(tx, execution_id, await get_settled_events(tx, execution_id, after))


async def _known(tx: Connection, execution_id: int, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if not found and await executions.get_execution(tx, execution_id) is None:
        raise no_execution(execution_id)
    return found


async def explain(
    core: Core, execution_id: int, *, step: str | None = None, attempt: int | None = None
) -> list[dict[str, Any]]:
    """Every decision on retries, in plain English; of one step or one attempt where they are named."""
    found = await _events(core, execution_id)
    known = {e["step"] for e in found if e["step"] is not None}
    if step is not None and step not in known:
        raise NotFound(
            f"execution {execution_id} has no events of a step {step!r}; there are: {', '.join(sorted(known))}"
        )
    chosen = [
        e for e in found
        if "decision" in e["data"]
        and (step is None or e["step"] == step)
        and (attempt is None or e["attempt"] == attempt)
    ]  # fmt: skip
    if attempt is not None and not chosen:
        raise NotFound(
            f"execution {execution_id} has no decision on attempt {attempt}{f' of {step}' if step else ''}"
        )
    return [_explained(found, e) for e in chosen]


def _explained(events: Sequence[dict[str, Any]], decided: dict[str, Any]) -> dict[str, Any]:
    same = (
        e
        for e in events
        if (e["step"], e["item"], e["attempt"]) == (decided["step"], decided["item"], decided["attempt"])
    )
    failure = next((e["data"]["failure"] for e in same if e["data"].get("failure")), None)
    decision = decided["data"]["decision"]
    return {
        "step": decided["step"],
        "attempt": decided["attempt"],
        "at": decided["at"],
        "verdict": decision["verdict"],
        "rule": decision["rule"],
        "reason": decision.get("reason"),
        "failure": failure,
        "decision": decision,
        "text": _text(decided, decision, failure),
    }


def _text(decided: dict[str, Any], decision: dict[str, Any], failure: dict[str, Any] | None) -> str:
    if "checks" not in decision:
        return (
            f"{decided['step']}: attempt {decided['attempt']} succeeded at once; there was nothing to decide."
        )
    return explain_decision(decision, failure, step=decided["step"], attempt=decided["attempt"])
