"""Decides whether a success is done. If not, the item runs again, uncounted, within a limit of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tenax.model.attempt.outcome import Failure, Outcome
from tenax.model.decision import CONDITION_WORK
from tenax.model.definition.workflow import Until
from tenax.model.durations import format_duration
from tenax.policy.expressions.compiler import Expression, compile_expression
from tenax.policy.expressions.conditions import strip_braces
from tenax.policy.expressions.meter import Meter
from tenax.policy.expressions.templates import UNTIL_VARIABLES
from tenax.policy.expressions.values import EvaluationError, truth_value


@dataclass(frozen=True, slots=True)
class CompiledUntil:
    until: Until
    condition: Expression


@dataclass(frozen=True, slots=True)
class Poll:
    """Holds the answer of `until` to a success: done, not yet done, or (with a failure) never."""

    done: bool
    delay: float = 0.0
    saw: Mapping[str, Any] | None = None
    failure: Failure | None = None


def compile_until(until: Until) -> CompiledUntil:
    return CompiledUntil(until, compile_expression(strip_braces(until.condition), variables=UNTIL_VARIABLES))


def poll(
    compiled: CompiledUntil,
    outcome: Outcome,
    *,
    polls: int,
    attempt: int,
    elapsed: float,
    execution_id: int,
    step: str,
    work: int = CONDITION_WORK,
) -> Poll:
    """Evaluates `until`. `polls` counts its earlier answers "not yet done". `work` is the budget of its condition."""
    until, result = compiled.until, outcome.result
    scope = {
        "result": result,
        "data": result.get("data", result) if isinstance(result, Mapping) else result,
        "status_code": result.get("status_code") if isinstance(result, Mapping) else None,
        "attempt": attempt,
        "polls": polls,
        "elapsed": elapsed,
        "execution_id": execution_id,
        "node_id": step,
    }
    try:
        done = truth_value(compiled.condition.evaluate(scope, Meter(work)))
    except EvaluationError as error:
        broken = {"condition": until.condition, "error": str(error)}
        message = f"`until` cannot be evaluated: {error}"
        return Poll(done=False, saw=broken, failure=Failure("invalid", "template_error", message))
    saw = {"condition": until.condition, "value": done, "polls": polls, "max_polls": until.max_polls}
    if done:
        return Poll(done=True, saw=saw)
    return Poll(done=False, delay=until.delay, saw=saw, failure=_limit(until, polls, elapsed))


def _limit(until: Until, polls: int, elapsed: float) -> Failure | None:
    if until.max_polls is not None and polls >= until.max_polls:
        return Failure("timeout", "until_limit", f"not done after {polls} polls (max_polls of `until`)")
    if until.deadline is not None and elapsed + until.delay > until.deadline:
        limit = format_duration(until.deadline)
        return Failure("timeout", "until_limit", f"not done within {limit} (the deadline of `until`)")
    return None
