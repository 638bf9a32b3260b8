"""Compiles the conditions of a retry policy: `retry_when`, `stop_when` and a rule's `when`. In them a missing value is None."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from tenax.model.attempt.outcome import Failure, Outcome
from tenax.model.source.findings import shorten, suggest
from tenax.policy.expressions.compiler import TEXT_LENGTH, Expression, ExpressionError, compile_expression
from tenax.policy.expressions.exception_name import exception_of
from tenax.policy.expressions.meter import Meter
from tenax.policy.expressions.values import truth_value

CONDITION_VARIABLES = frozenset(
    {
        "result",
        "status_code",
        "error",
        "success",
        "data",
        "attempt",
        "execution_id",
        "node_id",
        "max_attempts",
        "failure",
        "elapsed",
        "cost",
    }
)


FAILURE_FIELDS = ("class", "reason", "exit_code", "retry_after", "exception", "child")
CHILD_FIELDS = ("execution_id", "class", "reason", "message", "step", "attempts", "child")
"""The fields of `failure.child`, the failure of a child execution, which may come from a child of its own."""


class Condition:
    """Is a compiled condition. Braces around it are optional, and its text is kept as written."""

    __slots__ = ("_expression", "text")

    def __init__(self, text: str, expression: Expression) -> None:
        self.text = text
        self._expression = expression

    @property
    def reads(self) -> frozenset[tuple[str, ...]]:
        return self._expression.reads

    def holds(self, scope: Mapping[str, Any], meter: Meter | None = None) -> bool:
        """Returns whether the condition holds. Raises EvaluationError if these values give no answer, or the meter is
        used up."""
        return truth_value(self._expression.evaluate(scope, meter))

    def __repr__(self) -> str:
        return f"Condition({self.text!r})"


def compile_condition(text: str) -> Condition:
    """Checks and compiles a condition. Raises ExpressionError if it is wrong."""
    if len(text) > 2 * TEXT_LENGTH:  # refused before the cache, which would keep the text
        raise ExpressionError(f"the condition has {len(text):,} characters; {TEXT_LENGTH:,} are allowed")
    return _compile(text)


@lru_cache(maxsize=4096)
def _compile(text: str) -> Condition:
    return Condition(text, compile_expression(strip_braces(text), variables=CONDITION_VARIABLES))


def unknown_fields(condition: Condition) -> list[str]:
    """Returns what is wrong with the fields of `failure` that a condition reads. An unknown field would always
    be None."""
    return [fault for read in sorted(condition.reads) if (fault := _fault_of(read)) is not None]


def _fault_of(read: tuple[str, ...]) -> str | None:
    if read[:1] != ("failure",):
        return None
    known: tuple[str, ...] = FAILURE_FIELDS
    reader = "failure"
    for name in read[1:]:
        if name not in known:
            return f"there is no `{reader}.{shorten(name)}`{suggest(name, known)}"
        if name != "child":
            return None
        known, reader = CHILD_FIELDS, f"{reader}.child"
    return None


def strip_braces(text: str) -> str:
    """Removes the braces of `{{ x }}`, which mean nothing where only an expression can stand."""
    stripped = text.strip()
    if stripped.startswith("{{") and stripped.endswith("}}") and len(stripped) >= 4:
        inner = stripped[2:-2]
        return inner[inner.startswith("-") : len(inner) - inner.endswith("-")]
    return stripped


def condition_scope(
    outcome: Outcome,
    failure: Failure,
    *,
    attempt: int,
    max_attempts: int | None,
    execution_id: int,
    step: str,
    elapsed: float,
    cost: float,
) -> dict[str, Any]:
    """Returns the variables of a condition. A variable that does not apply is None. `cost` includes this attempt's."""
    evidence = failure.evidence
    data = evidence.get("data")
    result = outcome.result if outcome.result is not None else data
    if data is None:
        data = result.get("data", result) if isinstance(result, Mapping) else result
    return {
        "result": result,
        "status_code": evidence.get("status_code"),
        "error": failure.message,
        "success": False,
        "data": data,
        "attempt": attempt,
        "execution_id": execution_id,
        "node_id": step,
        "max_attempts": max_attempts,
        "failure": {
            "class": failure.failure_class,
            "reason": failure.reason,
            "exit_code": evidence.get("exit_code"),
            "retry_after": evidence.get("retry_after"),
            "exception": exception_of(failure),
            "child": evidence.get("child"),
        },
        "elapsed": elapsed,
        "cost": cost,
    }
