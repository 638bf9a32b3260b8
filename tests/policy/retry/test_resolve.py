from __future__ import annotations

import json
from dataclasses import fields

import pytest

from tenax.model.policy import DELAY_FIELDS, NO_POLICY, Policy, Rule
from tenax.policy.expressions.compiler import ExpressionError
from tenax.policy.retry.resolve import PolicyError, compile_policy, policy_hash, resolve_policy


@pytest.mark.parametrize(
    ("levels", "policy"),
    [
        ([], NO_POLICY),
        ([None, None], NO_POLICY),
        ([True], Policy(max_attempts=3)),
        ([{}], Policy(max_attempts=3)),
        ([False], Policy(max_attempts=1, infra_attempts=0)),
        ([False, {"max_attempts": 5, "initial_delay": 9.0}], Policy(max_attempts=1, infra_attempts=0)),
        ([None, {"max_attempts": 5}], Policy(max_attempts=5)),
        ([True, {"max_attempts": 5}], Policy(max_attempts=5)),
        (
            [{"initial_delay": 2.0}, {"max_attempts": 5, "initial_delay": 9.0}],
            Policy(max_attempts=5, initial_delay=2.0),
        ),
        ([{"max_attempts": 2}, False, {"initial_delay": 9.0}], Policy(max_attempts=2, infra_attempts=0)),
        ([{"infra_attempts": 4}, False], Policy(max_attempts=1, infra_attempts=4)),
        ([{"initial_delay": 2.0}, False], Policy(max_attempts=1, infra_attempts=0, initial_delay=2.0)),
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
        ([False, {"vary": ["{}"]}], Policy(max_attempts=1, infra_attempts=0)),
        ([{"initial_delay": 600.0}], Policy(initial_delay=600.0, max_delay=600.0)),
        ([{"initial_delay": 600.0, "max_delay": 600.0}], Policy(initial_delay=600.0, max_delay=600.0)),
    ],
)
def test_where_a_policy_comes_from(levels, policy):
    assert resolve_policy(levels) == policy


STORED_BY_0_1 = """
{"max_attempts": 1, "retryable": true, "backoff": "exponential", "initial_delay": 1.0, "backoff_multiplier": 2.0,
 "max_delay": 300.0, "jitter": 0.2, "retry_when": null, "stop_when": null, "retry_on": [], "never_on": [], "rules": [],
 "infra_attempts": 0, "give_up_after": null, "honor_retry_after": true, "max_retry_after": 3600.0,
 "attempt_cost": null, "max_snoozes": 100}
"""
"""The policy that version 0.1 stored if no policy was given."""


def test_a_policy_stored_by_version_0_1_keeps_its_meaning_and_its_hash():
    policy = Policy.from_dict(json.loads(STORED_BY_0_1))
    assert policy == Policy(max_attempts=1, infra_attempts=0)
    assert policy_hash(policy) == "3d44336c68e51326d1aeaed26ca7821e83b4fb5173e557f92a606ae8db0e079f"
    assert policy.as_dict() == json.loads(STORED_BY_0_1)


def test_the_policy_that_forgives_only_lost_workers_is_stored_as_such():
    assert Policy.from_dict(json.loads(json.dumps(NO_POLICY.as_dict()))) == NO_POLICY
    assert policy_hash(NO_POLICY) != policy_hash(Policy(max_attempts=1))


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


@pytest.mark.parametrize(
    "name",
    [
        f.name
        for f in fields(Policy)
        if isinstance(f.default, float) or f.name in ("give_up_after", "attempt_cost")
    ],
)
def test_a_whole_number_hashes_as_a_real_one(name):
    whole, real = Policy(**{name: 7}), Policy(**{name: 7.0})
    assert policy_hash(whole) == policy_hash(real)
    if name in DELAY_FIELDS:
        assert policy_hash(Policy(rules=(Rule(**{name: 7}),))) == policy_hash(
            Policy(rules=(Rule(**{name: 7.0}),))
        )


def test_compiling_is_cached_and_refuses_a_broken_condition():
    assert compile_policy(Policy()) is compile_policy(Policy())
    with pytest.raises(ExpressionError):
        compile_policy(Policy(retry_when="nope"))
