"""One transition of an item, for tests: the step `a` of a small workflow, and what happened to its item."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.decision import Ledger
from tenax.model.json_text import encode
from tenax.model.parse.parse import parse_workflow
from tenax.policy.outcome_events import EndedAttempt, How
from tenax.policy.plan import Plan, make_plan
from tenax.policy.transition import ServerRules, Transition, transition
from tenax.store.rows import FanOutRow, ItemRow

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
RULES = ServerRules(retries_enabled=True, poison_after=3, max_hold=86_400.0)
RETRY = "retry: {max_attempts: 3, initial_delay: 10, backoff: fixed, jitter: 0}"
UNDO = "compensate: {type: python, task: 't:u', retry: {max_attempts: 2, initial_delay: 3, jitter: 0}}"


def plan_of(more: str = RETRY, *, second: bool = True) -> Plan:
    steps = [f"- {{step: a, type: python, task: 't:t', {more}}}"]
    if second:
        steps.append("- {step: b, type: python, task: 't:t', needs: [a]}")
    return make_plan(parse_workflow("name: w\nworkflow:\n" + "\n".join(steps)), None)


def item(**more: Any) -> ItemRow:
    """A leased item of the step `a`, at its first attempt."""
    known: dict[str, Any] = {
        "id": 7, "execution_id": 5, "plan_id": 1, "step": "a", "item_no": None, "attempt": 1, "max_attempts": 3, "ledger": None,
        "created_at": NOW - timedelta(seconds=30), "worker": "w1", "started_at": NOW - timedelta(seconds=2), "state": "leased",
        "lease_token": "t1", "refused_by": None, "runtime": "python",
        "compensates": False, "awaiting": None, "child": None, "placed": True, "action_limit": None, "key_limit": None, "policy": None,
    }  # fmt: skip
    return ItemRow(**{**known, **more})


def fan_out(**more: Any) -> FanOutRow:
    return replace(FanOutRow(5, "a", 4, 0, 0, 0, 1, 2, 2, closed=False), **more)


def made(
    outcome: Outcome,
    *,
    plan: Plan | None = None,
    of: ItemRow | None = None,
    how: How = "reported",
    fan: FanOutRow | None = None,
    execution_open: bool = True,
    rules: ServerRules = RULES,
    **more: Any,
) -> Transition:
    ended = EndedAttempt(of or item(), outcome, how, **more)
    return transition(
        plan or plan_of(), ended, execution_open=execution_open, fan_out=fan, rules=rules, now=NOW, roll=0.5
    )


def types(one: Transition) -> list[str]:
    return [event["type"] for event in one.events]


GOOD = Outcome("succeeded", {"n": 1})
BUSY = Outcome("failed", facts=Facts(status_code=503, message="busy"))
GONE = Outcome("failed", facts=Facts(status_code=404, message="gone"))
TWICE = encode(Ledger(counted=2, by_class={"transient": 2}))
