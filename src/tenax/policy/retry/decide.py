"""Makes the decision on an ended attempt, by one pure function for all kinds of ends.

Everything that the decision depends on is an argument, and everything that it used is in its result. Repeating it on the stored inputs
gives the same decision. No other code compares attempts, or chooses between retry, hold and end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from tenax.model.attempt.classify import classify
from tenax.model.attempt.outcome import Facts, Failure, Outcome
from tenax.model.decision import NO_CONTROLS, Check, Controls, Decision, DelayParts, Ledger
from tenax.model.durations import format_duration
from tenax.model.policy import NO_POLICY
from tenax.policy.retry.attempt_words import progress
from tenax.policy.retry.decision_inputs import Case
from tenax.policy.retry.ledger import ledger_after
from tenax.policy.retry.resolve import CompiledPolicy, compile_policy
from tenax.policy.retry.rule_chain import OPEN, Judgement
from tenax.policy.retry.rules import RULES
from tenax.policy.retry.until import CompiledUntil, Poll, poll

__all__ = [
    "RULES",
    "SUCCESS_AT_ONCE",
    "Decided",
    "decide",
    "decide_outcome",
    "progress",
    "read_failure",
    "replay",
]

_NO_FACTS = Facts()
_ENDED = (Check("execution_ended", hit=True, saw={"execution_open": False}),)
_STEP_ENDED = (OPEN, Check("step_ended", hit=True, saw={"step_open": False}))
_SUCCEEDED = (OPEN, Check("succeeded", hit=True, saw={"status": "succeeded"}))


def decide(
    policy: CompiledPolicy,
    ledger: Ledger,
    outcome: Outcome,
    *,
    attempt: int,
    elapsed: float,
    controls: Controls,
    roll: float,
    execution_id: int = 0,
    step: str = "",
    failure: Failure | None = None,
    polled: Poll | None = None,
) -> Decision:
    """Decides what happens next. `ledger` is the one before this outcome, and `roll` one random number in [0, 1).
    `polled` is the answer of the step's `until` to a success."""
    case = Case(policy, ledger, outcome, attempt, elapsed, controls, roll, execution_id, step)
    if outcome.status == "succeeded":
        failure = polled.failure if polled is not None else None
    elif failure is None:
        failure = read_failure(policy, ledger, outcome)
    return _decide(case, failure, polled)


def _decide(case: Case, failure: Failure | None, polled: Poll | None) -> Decision:
    policy, outcome, controls = case.policy, case.outcome, case.controls
    if not controls.execution_open or not controls.step_open:
        return _stopped(case, failure)
    if polled is not None and not polled.done and failure is None:
        return _polled(case, polled)
    if failure is not None:
        unmet = Check("until", hit=False, saw=dict(polled.saw or {})) if polled is not None else None
        return Judgement(case, failure, unmet).decide()
    if outcome.status == "snoozed":
        return _snoozed(case)
    after = ledger_after(policy.policy, case.ledger, outcome, elapsed=case.elapsed, trees=controls.budgets)
    return case.decision("complete", "succeeded", "the attempt succeeded", after, _SUCCEEDED)


class Decided(NamedTuple):
    """Holds a decision on an outcome, and what was read from the outcome on the way."""

    decision: Decision
    failure: Failure | None
    """None for a success, and for a snooze within its limit."""
    polled: Poll | None
    """The answer of the step's `until` to a success."""


def decide_outcome(
    policy: CompiledPolicy,
    until: CompiledUntil | None,
    ledger: Ledger,
    outcome: Outcome,
    *,
    attempt: int,
    controls: Controls,
    roll: float,
    execution_id: int,
    step: str,
) -> Decided:
    """Reads an outcome and decides on it. The engine and `tenax decide` both call this. `ledger` has
    the elapsed time."""
    elapsed, polled = ledger.elapsed, None
    if until is not None and outcome.status == "succeeded":
        polled = poll(
            until, outcome, polls=ledger.polls, attempt=attempt, elapsed=elapsed, execution_id=execution_id, step=step,
            work=controls.condition_work,
        )  # fmt: skip
    failure = polled.failure if polled is not None else read_failure(policy, ledger, outcome)
    case = Case(policy, ledger, outcome, attempt, elapsed, controls, roll, execution_id, step)
    return Decided(_decide(case, failure, polled), failure, polled)


def _stopped(case: Case, failure: Failure | None) -> Decision:
    after = ledger_after(
        case.policy.policy,
        case.ledger,
        case.outcome,
        elapsed=case.elapsed,
        failure_class=failure.failure_class if failure is not None else None,
        snoozed=failure is None and case.outcome.status == "snoozed",
        lost_worker=case.controls.lost_worker,
        trees=case.controls.budgets,
    )
    if not case.controls.execution_open:
        return case.decision("stop", "execution_ended", "the execution has ended", after, _ENDED)
    return case.decision("stop", "step_ended", "the step has failed meanwhile", after, _STEP_ENDED)


def _polled(case: Case, polled: Poll) -> Decision:
    """Decides on a success that is not done yet: it runs again, and no attempt is spent."""
    after = ledger_after(
        case.policy.policy,
        case.ledger,
        case.outcome,
        elapsed=case.elapsed,
        polled=True,
        trees=case.controls.budgets,
    )
    checks = (OPEN, Check("until", hit=True, saw=dict(polled.saw or {})))
    reason = (
        f"not done yet (`until`): it runs again in {format_duration(polled.delay)}; not counted as an attempt"
    )
    return case.decision("retry", "until", reason, after, checks, delay=DelayParts(polled.delay, "until"))


def _snoozed(case: Case) -> Decision:
    policy, asked = case.policy.policy, case.outcome.after
    after = ledger_after(
        policy,
        case.ledger,
        case.outcome,
        elapsed=case.elapsed,
        snoozed=True,
        trees=case.controls.budgets,
    )
    delay = policy.initial_delay if asked is None else max(asked, 0.0)
    saw = {"snoozes": after.snoozes, "max_snoozes": policy.max_snoozes}
    times = f"{after.snoozes} of {policy.max_snoozes} times"
    reason = f"snoozed for {format_duration(delay)}, {times}; not counted as an attempt"
    checks = (OPEN, Check("snoozed", hit=True, saw=saw))
    return case.decision(
        "retry", "snoozed", reason, after, checks, delay=DelayParts(delay, "snooze", hint=asked)
    )


def read_failure(policy: CompiledPolicy, ledger: Ledger, outcome: Outcome) -> Failure | None:
    """Returns the failure of an outcome. Returns None for a success, and for a snooze within its limit."""
    match outcome.status:
        case "succeeded":
            return None
        case "snoozed" if ledger.snoozes < policy.policy.max_snoozes:
            return None
        case "snoozed":
            limit = policy.policy.max_snoozes
            return Failure("transient", "snooze_limit", f"it snoozed again after {limit} snoozes, the limit")
        case status:
            return classify(outcome.facts or _NO_FACTS, status=status)


def replay(
    policy: CompiledPolicy,
    outcome: Outcome,
    failure: Failure | None,
    record: Mapping[str, Any],
    until: CompiledUntil | None = None,
) -> Decision:
    """Repeats the decision of a stored record (`Decision.as_dict()`) from its inputs."""
    before = Ledger.from_dict(record["before"])
    controls = msgspec.convert(record.get("controls", {}), Controls)
    polled = None
    if until is not None and outcome.status == "succeeded":
        inputs = {name: record[name] for name in ("attempt", "elapsed", "execution_id")}
        polled = poll(
            until,
            outcome,
            polls=before.polls,
            work=controls.condition_work,
            step=record["node_id"],
            **inputs,
        )
    return decide(
        policy,
        before,
        outcome,
        attempt=record["attempt"],
        elapsed=record["elapsed"],
        controls=controls,
        roll=record["roll"],
        execution_id=record["execution_id"],
        step=record["node_id"],
        failure=failure,
        polled=polled,
    )


SUCCESS_AT_ONCE = decide(
    compile_policy(NO_POLICY),
    Ledger(),
    Outcome("succeeded"),
    attempt=1,
    elapsed=0.0,
    controls=NO_CONTROLS,
    roll=0.0,
)
"""The decision on a success of an item without history in an open execution. No policy changes it, so it is made once.
"""
