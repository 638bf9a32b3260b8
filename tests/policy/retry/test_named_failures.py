"""Tests that an exception matches by its bare name, its qualified name and those of its bases, in lists and in conditions."""

from __future__ import annotations

import pytest

from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.decision import NO_CONTROLS, Ledger
from tenax.model.policy import Policy, Rule
from tenax.policy.retry.decide import decide_outcome
from tenax.policy.retry.resolve import compile_policy

QUOTA = Facts(
    exception="mylib.errors.QuotaExceeded",
    exception_bases=("mylib.errors.Error", "builtins.RuntimeError", "builtins.Exception", "builtins.BaseException"),
)  # fmt: skip
RUNTIME = Facts(exception="builtins.RuntimeError")
BY_HAND = Facts(exception="RuntimeError")
REFUSED = Facts(
    connection="refused",
    exception="builtins.ConnectionRefusedError",
    exception_bases=("builtins.ConnectionError", "builtins.OSError", "builtins.Exception"),
)

MATCHES = [
    (RUNTIME, "RuntimeError", True),
    (RUNTIME, "builtins.RuntimeError", True),
    (RUNTIME, "Exception", True),
    (RUNTIME, "builtins.Exception", True),
    (RUNTIME, "OSError", False),
    (RUNTIME, "Runtime", False),
    (BY_HAND, "RuntimeError", True),
    (BY_HAND, "builtins.RuntimeError", True),
    (BY_HAND, "Exception", True),
    (QUOTA, "QuotaExceeded", True),
    (QUOTA, "mylib.errors.QuotaExceeded", True),
    (QUOTA, "Error", True),
    (QUOTA, "mylib.errors.Error", True),
    (QUOTA, "RuntimeError", True),
    (QUOTA, "errors.QuotaExceeded", False),
    (QUOTA, "ValueError", False),
    (REFUSED, "OSError", True),
    (REFUSED, "ConnectionRefusedError", True),
    (Facts(status_code=503), "Exception", False),
]


def rule_of(policy, facts):
    decided = decide_outcome(
        compile_policy(policy),
        None,
        Ledger(),
        Outcome("failed", facts=facts),
        attempt=1,
        controls=NO_CONTROLS,
        roll=0.5,
        execution_id=1,
        step="s",
    )
    return decided.decision.rule


@pytest.mark.parametrize(("facts", "name", "matches"), MATCHES)
@pytest.mark.parametrize(
    ("policy", "hit"),
    [
        (lambda name: Policy(stop_when=f"failure.exception == '{name}'"), "stop_when"),
        (lambda name: Policy(stop_when=f"'{name}' == failure.exception"), "stop_when"),
        (lambda name: Policy(stop_when=f"failure.exception in ['x', '{name}']"), "stop_when"),
        (lambda name: Policy(stop_when=f"failure.exception is eq '{name}'"), "stop_when"),
        (lambda name: Policy(stop_when=f"not (failure.exception != '{name}')"), "stop_when"),
        (lambda name: Policy(stop_when=f"not ('{name}' != failure.exception)"), "stop_when"),
        (lambda name: Policy(never_on=(f"exception_{name}",)), "never_on"),
        (lambda name: Policy(rules=(Rule(on=(f"exception_{name}",), retry=False),)), "rule_retry"),
    ],
)
def test_by_any_of_its_names(policy, hit, facts, name, matches):
    assert (rule_of(policy(name), facts) == hit) is matches


def test_retry_on_names_a_programming_error_by_its_base():
    facts = Facts(exception="builtins.IndexError", failure_class="logical")
    assert rule_of(Policy(), facts) == "class_default"
    assert rule_of(Policy(retry_on=("exception_LookupError",)), facts) == "retry"


def test_an_exception_that_retry_on_names_is_not_ruled_out_by_its_class():
    policy = Policy(never_on=("transient",), retry_on=("exception_Exception",))
    assert rule_of(policy, RUNTIME) == "retry"
    assert rule_of(policy, Facts(status_code=503)) == "never_on"


def test_what_is_no_exception_has_no_name():
    assert rule_of(Policy(stop_when="failure.exception == None"), Facts(status_code=503)) == "stop_when"
    assert rule_of(Policy(stop_when="failure.exception != None"), RUNTIME) == "stop_when"
