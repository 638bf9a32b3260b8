"""Reads what the log says of each attempt, and repeats stored decisions from their stored inputs."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from support.hand import Hand
from tenax.model.attempt.outcome import Failure, Outcome, Usage
from tenax.policy.plan import Plan
from tenax.policy.retry.decide import replay

STATUS = {
    "action_completed": "succeeded",
    "action_polled": "succeeded",
    "action_not_completed": "not_completed",
    "action_snoozed": "snoozed",
    "action_error": "failed",
    "lease_expired": "failed",
    "queue_expired": "failed",
}


def kind_of(e: dict[str, Any]) -> str:
    """Returns the type that an event of a compensation would have in a step."""
    if e["type"] == "compensation_error":
        return str(e["data"].get("how", "action_error"))
    if e["type"] in ("compensation_started", "compensation_completed"):
        return str(e["type"]).replace("compensation", "action")
    return str(e["type"])


def attempts_of(events: list[dict[str, Any]]) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for e in events:
        if e["step"] is not None and e["attempt"] is not None and e["type"] != "late_result":
            undoes = e["type"].startswith("compensation_") or bool(e["data"].get("compensation"))
            found[e["step"], e["item"], e["attempt"], undoes].append(e)
    return found


def check_decisions(plan: Plan, events: list[dict[str, Any]]) -> int:
    """Asserts that every stored decision can be repeated from its stored inputs. Returns the number of decisions."""
    checked = 0
    for key, told in attempts_of(events).items():
        action = plan.action(key[0], compensates=key[3])
        end: dict[str, Any] | None = None
        for e in told:
            end = e if kind_of(e) in STATUS else end
            record = e["data"].get("decision")
            if end is None or record is None or "checks" not in record:
                continue
            data = end["data"]
            judged = any(check["rule"] == "until" for check in record["checks"])
            outcome = Outcome(
                "succeeded" if judged else STATUS[kind_of(end)],  # type: ignore[arg-type]
                data.get("result"),
                after=data.get("after"),
                usage=Usage(**data["usage"]) if "usage" in data else None,
            )
            failure = Failure.from_dict(data["failure"]) if "failure" in data else None
            again = replay(action.policy, outcome, failure, record, action.until)
            assert again.as_dict() == record, f"{key}: {e['type']}"
            checked += 1
    return checked


async def plan_of(hand: Hand, execution_id: int) -> Plan:
    [row] = await hand.sql("select plan_id from tenax.execution where id = $1", execution_id)
    async with hand.engine.context.transaction() as tx:
        return await hand.engine.context.plans.one(tx, row["plan_id"])
