from __future__ import annotations

import pytest

from tenax.model.attempt.classify import classify
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.policy.expressions.compiler import ExpressionError
from tenax.policy.expressions.conditions import CONDITION_VARIABLES, compile_condition, condition_scope
from tenax.policy.expressions.values import EvaluationError


def scope_of(facts: Facts, result=None):
    outcome = Outcome("failed", result=result, facts=facts)
    return condition_scope(
        outcome,
        classify(facts),
        attempt=2,
        max_attempts=5,
        execution_id=17,
        step="fetch",
        elapsed=12.5,
        cost=0.25,
    )


REFUSED = Facts(connection="refused")
BAD_GATEWAY = Facts(status_code=502, data={"code": "E7", "flags": ["a"]}, retry_after=3.0)

CHILD_FAILED = Facts(
    failure_class="logical",
    reason="child_failed",
    child={"execution_id": 9, "class": "transient", "attempts": 2, "child": {"step": "do"}},
)


@pytest.mark.parametrize(
    ("text", "facts", "holds"),
    [
        ("{{ status_code >= 500 or error != None }}", REFUSED, True),
        ("{{ status_code >= 500 }}", REFUSED, False),
        ("{{ status_code < 500 }}", REFUSED, False),
        ("status_code == None", REFUSED, True),
        ("status_code >= 500", BAD_GATEWAY, True),
        ("{{- status_code >= 500 -}}", BAD_GATEWAY, True),
        ("status_code in [502, 503]", BAD_GATEWAY, True),
        ("data.code == 'E7' and 'a' in data.flags", BAD_GATEWAY, True),
        ("result.code == 'E7'", BAD_GATEWAY, True),
        ("data.no.such.path == None", BAD_GATEWAY, True),
        ("failure.class == 'transient' and failure.reason == 'http_502'", BAD_GATEWAY, True),
        ("failure.retry_after > 2 and failure.exit_code == None", BAD_GATEWAY, True),
        ("attempt < max_attempts and execution_id == 17 and node_id == 'fetch'", BAD_GATEWAY, True),
        ("elapsed > 12 and cost < 1 and not success", BAD_GATEWAY, True),
        ("status_code == 200 and success", BAD_GATEWAY, False),
        ("failure.exception == 'builtins.OSError'", Facts(exception="builtins.OSError"), True),
        ("failure.exit_code == 7", Facts(exit_code=7), True),
        ("failure.child.class == 'transient' and failure.child.child.step == 'do'", CHILD_FAILED, True),
        ("failure.child.attempts >= 2", CHILD_FAILED, True),
        ("failure.child == None and failure.child.class == None", REFUSED, True),
        ("' YES '", REFUSED, True),
        ("'true'", REFUSED, True),
        ("'1'", REFUSED, True),
        ("'anything else'", REFUSED, False),
        ("error", REFUSED, False),
        ("[0]", REFUSED, True),
        ("0", REFUSED, False),
    ],
)
def test_conditions(text, facts, holds):
    assert compile_condition(text).holds(scope_of(facts)) is holds


def test_the_result_is_what_was_reported_and_data_is_within_it():
    scope = scope_of(Facts(fatal=True), result={"data": {"x": 1}, "status_code": 200})
    assert scope["data"] == {"x": 1}
    assert scope["result"]["status_code"] == 200


def test_every_variable_of_the_contract_is_in_the_scope():
    assert set(scope_of(REFUSED)) == CONDITION_VARIABLES


def test_what_still_cannot_be_evaluated_says_so():
    with pytest.raises(EvaluationError, match="cannot compare text > a number"):
        compile_condition("error > 5").holds(scope_of(REFUSED))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("statuscode >= 500", "did you mean `status_code`"),
        ("{{ attempt }} or {{ success }}", "not one expression"),
        ("{{ input.x }}", "unknown variable `input`"),
        ("{{", "not an expression"),
        ("{{}}", "empty"),
        ("x" * 1_000_000, "1,000,000 characters"),
    ],
)
def test_refused_at_load(text, says):
    with pytest.raises(ExpressionError, match=says):
        compile_condition(text)
