"""Runs `tenax decide`, which calls the decision function by hand."""

from __future__ import annotations

import random
from typing import Annotated, Any

from cyclopts import Parameter

from tenax.cli.flags import Json
from tenax.cli.input.decide_input import read_outcome, read_policy
from tenax.cli.input.decide_ledger import read_given_ledger
from tenax.cli.output import print_json, say
from tenax.model.attempt.outcome import Failure
from tenax.model.decision import NO_CONTROLS, NO_RETRIES, Decision, Ledger
from tenax.model.policy import Policy
from tenax.policy.retry.decide import Decided, decide_outcome
from tenax.policy.retry.explain import explain_decision
from tenax.policy.retry.resolve import compile_policy
from tenax.policy.retry.until import compile_until


def decide(
    *,
    policy: Annotated[
        str,
        Parameter(
            help="A retry policy as JSON (a mapping, true, 3), a JSON or YAML file with one (FILE or @FILE), or a workflow file with --step."
        ),
    ],
    outcome: Annotated[
        str,
        Parameter(
            help="The outcome as JSON (or @FILE): status (succeeded, failed, not_completed, snoozed) and any of class, reason, status_code, exit_code, exception, error, retry_after, result, usage."
        ),
    ],
    ledger: Annotated[
        str | None,
        Parameter(
            help="The ledger as JSON (or @FILE): attempts (all counted attempts with this one), by_class, by_rule, elapsed, previous_delay, cost, budget; or `before` of a recorded decision. [that of a first attempt]"
        ),
    ] = None,
    step: Annotated[
        str | None, Parameter(help="The step whose policy decides, if --policy is a workflow file.")
    ] = None,
    seed: Annotated[int | None, Parameter(help="A seed that makes the jitter repeatable.")] = None,
    json: Json = False,
) -> None:
    """Print what a policy would decide about an outcome. The exit code is 0 for any verdict."""
    chosen = read_policy(policy, step)
    compiled = compile_policy(chosen.policy)
    until = None if chosen.until is None else compile_until(chosen.until)
    asked = read_outcome(outcome)
    entries = read_given_ledger(ledger)
    roll = random.Random(seed).random()

    def decided(before: Ledger) -> Decided:
        return decide_outcome(
            compiled,
            until,
            before,
            entries.priced(asked),
            attempt=entries.attempt(before),
            controls=NO_CONTROLS if chosen.retries_enabled else NO_RETRIES,
            roll=roll,
            execution_id=0,
            step=chosen.step,
        )

    # The first decision gives the failure and its rule. The second one has a ledger without this attempt.
    decision, failure, _ = decided(entries.before(chosen.policy, None))
    decision, failure, _ = decided(entries.before(chosen.policy, failure, decision.matched_rule))
    if json:
        print_json(_as_json(decision, failure, chosen.policy))
    else:
        say(_in_words(decision, failure))


def _as_json(decision: Decision, failure: Failure | None, policy: Policy) -> dict[str, Any]:
    record = decision.as_dict()
    return {
        "verdict": decision.verdict,
        "rule": decision.rule,
        "reason": decision.reason,
        "delay": None if decision.delay is None else decision.delay.delay,
        "attempts": decision.after.counted,
        "max_attempts": decision.max_attempts,
        "exhausted": decision.exhausted,
        "class": None if failure is None else failure.failure_class,
        "failure": None if failure is None else failure.as_dict(),
        "roll": decision.roll,
        "delay_parts": record.get("delay"),
        "matched_rule": decision.matched_rule,
        "checks": record["checks"],
        "before": record["before"],
        "after": record["after"],
        "policy": policy.as_dict(),
        "version": decision.version,
    }


def _in_words(decision: Decision, failure: Failure | None) -> str:
    text = explain_decision(
        decision.as_dict(),
        None if failure is None else failure.as_dict(),
        step="(yours)",
        attempt=decision.attempt,
    )
    return text.replace("Step (yours), attempt", "Attempt", 1)
