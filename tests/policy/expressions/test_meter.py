"""Tests the budget of expressions: counted, equal on every machine, and never reached by ordinary conditions."""

from __future__ import annotations

import contextlib
import sys
import time

import pytest

from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.decision import NO_CONTROLS, Controls, Ledger
from tenax.model.policy import Policy, Rule
from tenax.policy.expressions.compiler import compile_expression
from tenax.policy.expressions.conditions import compile_condition
from tenax.policy.expressions.meter import Meter
from tenax.policy.expressions.templates import TEMPLATE_VARIABLES, compile_template
from tenax.policy.expressions.values import EvaluationError
from tenax.policy.retry.decide import decide, read_failure, replay
from tenax.policy.retry.resolve import compile_policy

ROWS = [{"name": f"row {n}", "value": n} for n in range(20_000)]
TEXT = "x" * 700_000
VARIABLES = frozenset({"data", "other"})
MUCH = " or ".join(["(data|string) in (other|string|upper)"] * 20)


def decided(policy: Policy, data: object, controls: Controls = NO_CONTROLS):
    compiled, outcome = compile_policy(policy), Outcome("failed", facts=Facts(status_code=503, data=data))
    given = {"attempt": 1, "elapsed": 0.0, "controls": controls, "roll": 0.5}
    decision = decide(compiled, Ledger(), outcome, **given)
    again = replay(compiled, outcome, read_failure(compiled, Ledger(), outcome), decision.as_dict())
    assert again.as_dict() == decision.as_dict()
    return decision


@pytest.mark.parametrize("data", [ROWS, TEXT], ids=["rows", "text"])
def test_rules_over_large_data_fail_to_evaluate(data):
    rule = Rule(when=MUCH.replace("other", "data"), retry=True)
    decision = decided(Policy(max_attempts=5, rules=(rule,) * 10), data)
    assert (decision.verdict, decision.rule) == ("fail", "condition_error")
    assert "units of work" in decision.reason


@pytest.mark.parametrize(
    "text",
    [
        MUCH,
        " or ".join(["data == other and 1 > 2"] * 80),
        " or ".join(["data < other and 1 > 2"] * 80),
        " or ".join(["[1] in data"] * 80),
        " or ".join(["'nothing' in data"] * 80),
        " or ".join(["(data ~ '') == ''"] * 80),
        " or ".join(["(data | tojson | length) < 1"] * 80),
        " or ".join(["(data | join('-')) == ''"] * 80),
        " or ".join(["(data is eq other) and 1 > 2"] * 80),
        "[" + ", ".join(["data"] * 80) + "] == []",
        "other[data]",
    ],
)
def test_no_expression_takes_long(text):
    rows = [{"n": n} for n in range(300_000)]
    scope = {"data": rows, "other": [dict(row) for row in rows]}
    expression = compile_expression(text, variables=VARIABLES)
    begun = time.thread_time()
    with contextlib.suppress(EvaluationError):
        expression.evaluate(scope)
    assert time.thread_time() - begun < 0.5  # without a budget these take up to minutes; with it, 20 ms


def test_the_budget_is_that_of_all_conditions_of_a_decision():
    rule = Rule(when="(data | string) == ''", retry=True)
    rows = ROWS[:5_000]
    one = Policy(max_attempts=5, rules=(rule,))
    ten = Policy(max_attempts=5, rules=(rule,) * 10)
    assert decided(one, rows).verdict == "retry"
    assert decided(ten, rows).rule == "condition_error"


def test_a_budget_of_the_settings_is_recorded_with_the_decision():
    rule = Rule(when="(data | string) == ''", retry=True)
    policy = Policy(max_attempts=5, rules=(rule,) * 10)
    decision = decided(policy, ROWS[:5_000], Controls(condition_work=100_000_000))
    assert decision.verdict == "retry"
    assert decision.as_dict()["controls"] == {"condition_work": 100_000_000}


def test_ordinary_conditions_cost_next_to_nothing():
    meter = Meter()
    scope = {"status_code": 503, "data": ROWS, "error": "busy"}
    for text in (
        "status_code >= 500",
        "status_code in [502, 503]",
        "data[0].name == 'row 0'",
        "error != None",
    ):
        assert compile_condition(text).holds(scope, meter)
    assert meter.work_limit - meter.work < 1000


def test_the_same_data_costs_the_same():
    spent = set()
    for _ in range(3):
        meter = Meter()
        compile_expression("data | string", variables=VARIABLES).evaluate({"data": ROWS}, meter)
        spent.add(meter.work)
    assert len(spent) == 1


@pytest.mark.parametrize("text", ["data | join", "data | join('-')"])
def test_the_characters_of_a_text_are_charged_before_they_are_joined(text):
    lines = 0

    def count(frame, event, _):
        nonlocal lines
        lines += event == "line"
        return count if "/tenax/policy/" in frame.f_code.co_filename else None

    expression = compile_expression(text, variables=VARIABLES)
    before = sys.gettrace()
    sys.settrace(count)
    try:
        with pytest.raises(EvaluationError, match="units of work"):
            expression.evaluate({"data": "x" * 5_000}, Meter(work=6_000))
    finally:
        sys.settrace(before)
    assert lines < 200


def test_what_a_template_gives_is_bounded():
    template = compile_template(
        {"a": ["{{ input }}", "{{ input }}", "and {{ input }}"]}, variables=TEMPLATE_VARIABLES
    )
    assert template.render({"input": "x" * 100}, Meter(output=300)).value["a"][0] == "x" * 100
    with pytest.raises(EvaluationError, match=r"a\[2\]: .* more than 299 bytes \(`max_rendered`\)"):
        template.render({"input": "x" * 100}, Meter(output=299))
