"""The decision: one pure function for every path on which an attempt can end.

Everything it depends on is an argument, and everything it saw is in what it returns: running it again on what was
stored gives the same decision. No other code compares attempts or chooses between retry, hold and end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenax.model.decision import NO_CONTROLS, Check, Controls, Decision, DelayParts, Ledger
from tenax.model.durations import format_duration
from tenax.model.outcome import Facts, Failure, Outcome
from tenax.model.policy import ONE_ATTEMPT
from tenax.policy.classify import classify
from tenax.policy.judgement import OPEN, Case, Judgement, progress
from tenax.policy.ledgers import settle
from tenax.policy.resolve import CompiledPolicy, compile_policy
from tenax.policy.rules import RULES

__all__ = ["RULES", "SUCCESS_AT_ONCE", "decide", "progress", "read_failure", "replay"]

_NO_FACTS = Facts()
_ENDED = (Check("execution_ended", hit=True, saw={"execution_open": False}),)
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
    node_id: str = "",
    failure: Failure | None = None,
) -> Decision:
    """What happens next. `ledger` is the one before this outcome; `roll` is one random number in [0, 1)."""
    case = Case(policy, ledger, outcome, attempt, elapsed, controls, roll, execution_id, node_id)
    if outcome.status == "succeeded":
        failure = None
    elif failure is None:
        failure = read_failure(policy, ledger, outcome)
    if not controls.execution_open:
        return _stopped(case, failure)
    if failure is not None:
        return Judgement(case, failure).decide()
    if outcome.status == "snoozed":
        return _snoozed(case)
    after = settle(policy.policy, ledger, outcome, elapsed=elapsed)
    return case.decision("complete", "succeeded", "the attempt succeeded", after, _SUCCEEDED)


def _stopped(case: Case, failure: Failure | None) -> Decision:
    after = settle(
        case.policy.policy,
        case.ledger,
        case.outcome,
        elapsed=case.elapsed,
        failure_class=failure.failure_class if failure is not None else None,
        snoozed=failure is None and case.outcome.status == "snoozed",
    )
    return case.decision("stop", "execution_ended", "the execution has ended", after, _ENDED)


def _snoozed(case: Case) -> Decision:
    policy, asked = case.policy.policy, case.outcome.after
    after = settle(policy, case.ledger, case.outcome, elapsed=case.elapsed, snoozed=True)
    delay = policy.initial_delay if asked is None else max(asked, 0.0)
    saw = {"snoozes": after.snoozes, "max_snoozes": policy.max_snoozes}
    times = f"{after.snoozes} of {policy.max_snoozes} times"
    reason = f"snoozed for {format_duration(delay)}, {times}; not counted as an attempt"
    checks = (OPEN, Check("snoozed", hit=True, saw=saw))
    return case.decision(
        "retry", "snoozed", reason, after, checks, delay=DelayParts(delay, "snooze", hint=asked)
    )


def read_failure(policy: CompiledPolicy, ledger: Ledger, outcome: Outcome) -> Failure | None:
    """The failure that an outcome is: None for success, and for a snooze within its limit."""
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
    policy: CompiledPolicy, outcome: Outcome, failure: Failure | None, record: Mapping[str, Any]
) -> Decision:
    """The decision of a stored record (`Decision.as_dict()`), made again from its inputs."""
    return decide(
        policy,
        Ledger(**record["before"]),
        outcome,
        attempt=record["attempt"],
        elapsed=record["elapsed"],
        controls=Controls(**record.get("controls", {})),
        roll=record["roll"],
        execution_id=record["execution_id"],
        node_id=record["node_id"],
        failure=failure,
    )


SUCCESS_AT_ONCE = decide(
    compile_policy(ONE_ATTEMPT),
    Ledger(),
    Outcome("succeeded"),
    attempt=1,
    elapsed=0.0,
    controls=NO_CONTROLS,
    roll=0.0,
)
"""The success of an item with nothing behind it, in an open execution: no policy changes it, so it is decided once."""
