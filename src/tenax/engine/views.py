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
from tenax.store.events import get_events, get_new_events

_TIMES = ("created_at", "deadline_at", "finished_at")


async def get(core: Core, execution_id: int) -> dict[str, Any]:
    """One execution with its steps, folded from its events."""
    async with core.transaction() as tx:
        row = await executions.get_execution(tx, execution_id)
        if row is None:
            raise no_execution(execution_id)
        plan = (await core.plans.load(tx, [row["plan_id"]]))[row["plan_id"]]
        events = await get_events(tx, execution_id)
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


async def events(core: Core, execution_id: int, *, after: int = 0) -> list[dict[str, Any]]:
    """The events after a sequence number, as they stand now."""
    async with core.transaction() as tx:
        found = await get_events(tx, execution_id, after)
        await _check_known(tx, execution_id, found)
    return found


async def news(
    core: Core, execution_id: int, *, cursor: str | None = None, wait: float = 0.0
) -> dict[str, Any]:
    """The events since the cursor (all, without one), and the next cursor: who comes back with it misses nothing.

    With `wait`, up to so many seconds until there is one.
    """
    async with core.hub.following(execution_id) as changed:
        found, cursor = await _news(core, execution_id, cursor)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait):
                while not found and wait > 0:
                    await changed.wait()
                    changed.clear()
                    found, cursor = await _news(core, execution_id, cursor)
    return {"events": found, "cursor": cursor}


async def _news(core: Core, execution_id: int, cursor: str | None) -> tuple[list[dict[str, Any]], str]:
    async with core.transaction() as tx:
        found, cursor = await get_new_events(tx, execution_id, cursor)
        await _check_known(tx, execution_id, found)
    return found, cursor


async def _check_known(tx: Connection, execution_id: int, found: list[dict[str, Any]]) -> None:
    if not found and await executions.get_execution(tx, execution_id) is None:
        raise no_execution(execution_id)


async def explain(
    core: Core, execution_id: int, *, step: str | None = None, attempt: int | None = None
) -> list[dict[str, Any]]:
    """Every decision on retries, in plain English; of one step or one attempt where they are named."""
    found = await events(core, execution_id)
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
