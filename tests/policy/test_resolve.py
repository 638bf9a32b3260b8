from __future__ import annotations

import json

import pytest

from tenax.model.policy import ONE_ATTEMPT, Policy, Rule
from tenax.policy.expressions import ExpressionError
from tenax.policy.resolve import PolicyError, compile_policy, policy_hash, resolve_policy


@pytest.mark.parametrize(
    ("levels", "policy"),
    [
        ([], ONE_ATTEMPT),
        ([None, None], ONE_ATTEMPT),
        ([True], Policy(max_attempts=3)),
        ([{}], Policy(max_attempts=3)),
        ([False], Policy(max_attempts=1)),
        ([False, {"max_attempts": 5, "initial_delay": 9.0}], Policy(max_attempts=1)),
        ([None, {"max_attempts": 5}], Policy(max_attempts=5)),
        ([True, {"max_attempts": 5}], Policy(max_attempts=5)),
        (
            [{"initial_delay": 2.0}, {"max_attempts": 5, "initial_delay": 9.0}],
            Policy(max_attempts=5, initial_delay=2.0),
        ),
        ([{"max_attempts": 2}, False, {"initial_delay": 9.0}], Policy(max_attempts=2)),
        ([{"initial_delay": 2.0}, False], Policy(max_attempts=1, initial_delay=2.0)),
        ([{"max_attempts": None}, {"max_attempts": 5}], Policy(max_attempts=None)),
        ([{"retry_on": ["http_404"]}, {"retry_on": ["denied"]}], Policy(retry_on=("http_404",))),
        (
            [
                {"rules": [{"on": ["timeout"], "retry": False}]},
                {"rules": [{"on": ["denied"], "retry": True}]},
            ],
            Policy(rules=(Rule(on=("timeout",), retry=False),)),
        ),
        ([{"rules": []}, {"rules": [{"on": ["denied"], "retry": True}]}], Policy()),
        ([{"vary": ["{}"]}, {"vary": ['{"url":"x"}', "{}"]}], Policy(vary=("{}",))),
        ([{"vary": []}, {"vary": ["{}"]}], Policy()),
        ([True, {"vary": ["{}"]}], Policy(vary=("{}",))),
        ([False, {"vary": ["{}"]}], ONE_ATTEMPT),
        ([{"initial_delay": 600.0}], Policy(initial_delay=600.0, max_delay=600.0)),
        ([{"initial_delay": 600.0, "max_delay": 600.0}], Policy(initial_delay=600.0, max_delay=600.0)),
    ],
)
def test_where_a_policy_comes_from(levels, policy):
    assert resolve_policy(levels) == policy


@pytest.mark.parametrize(
    ("levels", "path", "says"),
    [
        ([{"initial_delay": 60.0}, {"max_delay": 30.0}], ("max_delay",), "less than initial_delay"),
        ([{"retry_when": "status >= 500"}], ("retry_when",), "did you mean `status_code`"),
        ([{"stop_when": "attempt >"}], ("stop_when",), "not an expression"),
        ([{"rules": [{"when": "x", "retry": True}]}], ("rules", 0, "when"), "unknown variable"),
        (
            [{"rules": [{"on": ["timeout"], "max_delay": 0.5}]}],
            ("rules", 0, "max_delay"),
            "less than initial_delay",
        ),
        (
            [{"max_delay": 60.0, "rules": [{"on": ["timeout"], "initial_delay": 90.0}]}],
            ("rules", 0, "initial_delay"),
            "less than initial_delay",
        ),
    ],
)
def test_a_contradiction_is_refused(levels, path, says):
    with pytest.raises(PolicyError, match=says) as caught:
        resolve_policy(levels)
    assert [found for found, _ in caught.value.findings] == [path]


def test_all_findings_at_once():
    with pytest.raises(PolicyError) as caught:
        resolve_policy([{"retry_when": "x", "stop_when": "y", "max_delay": 0.1}])
    assert len(caught.value.messages) == 3
    assert caught.value.messages[1].startswith("retry_when: unknown variable")


def test_a_rule_may_start_above_a_cap_that_nobody_set():
    policy = resolve_policy([{"rules": [{"on": ["http_429"], "initial_delay": 900.0}]}])
    assert compile_policy(policy).rules[0].delays.max_delay == 900.0


def test_the_hash_is_of_the_content():
    assert policy_hash(Policy()) == policy_hash(Policy(initial_delay=1))
    assert policy_hash(Policy()) != policy_hash(Policy(max_attempts=4))
    policy = Policy(rules=(Rule(on=("timeout",), retry=False, max_delay=5),), retry_on=("http_404",))
    stored = Policy.from_dict(json.loads(json.dumps(policy.as_dict())))
    assert stored == policy
    assert policy_hash(stored) == policy_hash(policy)


def test_compiling_is_cached_and_refuses_a_broken_condition():
    assert compile_policy(Policy()) is compile_policy(Policy())
    with pytest.raises(ExpressionError):
        compile_policy(Policy(retry_when="nope"))
