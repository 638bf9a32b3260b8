from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.model.attempt.reasons import REASON_OF_CLASS
from tenax.model.definition.workflow import Workflow
from tenax.model.durations import duration_fields
from tenax.model.parse.parse import parse_workflow
from tenax.model.parse.retry_fields import REASONS, RETRY_FIELDS, RULE_FIELDS, is_known_reason, parse_retry
from tenax.model.policy import Policy, Rule
from tenax.policy.plan import make_plan


def findings_of(value):
    patch, findings = parse_retry(value, ("retry",))
    assert patch is None
    return findings


@pytest.mark.parametrize(
    ("value", "patch"),
    [
        (True, True),
        (False, False),
        (3, {"max_attempts": 3}),
        ({}, {}),
        ({"max_attempts": "unlimited"}, {"max_attempts": None}),
        ({"initial_delay": "250ms", "max_delay": "5m"}, {"initial_delay": 0.25, "max_delay": 300.0}),
        ({"jitter": False}, {"jitter": 0.0}),
        ({"jitter": True}, {"jitter": 0.5}),
        ({"jitter": 1}, {"jitter": 1.0}),
        ({"jitter": "full"}, {"jitter": "full"}),
        ({"retry_on": "http_404"}, {"retry_on": ["http_404"]}),
        ({"never_on": ["budget", "exit_code_7", "signal_9", "exception_OSError"]}, None),
        ({"infra_attempts": 0, "max_snoozes": 0}, None),
        ({"backoff": "fibonacci", "backoff_multiplier": 1}, None),
        ({"retry_when": "status_code >= 500", "stop_when": "{{ success }}"}, None),
        (
            {"honor_retry_after": False, "max_retry_after": "10m", "give_up_after": "1d", "retryable": False},
            None,
        ),
        ({"rules": [{"on": "timeout", "retry": False}]}, {"rules": [{"on": ["timeout"], "retry": False}]}),
        ({"vary": []}, {"vary": []}),
        (
            {"vary": [{}, {"b": [1], "a": {"z": None, "y": "x"}}]},
            {"vary": ["{}", '{"a":{"y":"x","z":null},"b":[1]}']},
        ),
        ({"rules": [{"when": "attempt > 2", "max_attempts": 2, "jitter": True}]}, None),
    ],
)
def test_what_is_accepted(value, patch):
    parsed, findings = parse_retry(value, ("retry",))
    assert findings == []
    assert parsed is not None
    if patch is not None:
        assert parsed == patch


@pytest.mark.parametrize(
    ("value", "path", "says"),
    [
        (0, (), "write 1"),
        (-1, (), "write 1"),
        (None, (), "not nothing"),
        ("unlimited", (), "max_attempts: unlimited"),
        ("3", (), "not the text '3'"),
        (2.5, (), "not the number 2.5"),
        ({"max_attempts": 0}, ("max_attempts",), "write 1"),
        ({"max_attempts": True}, ("max_attempts",), "not true"),
        ({"max_attempts": "many"}, ("max_attempts",), "not the text"),
        ({"max_attempts": 10**12}, ("max_attempts",), "unlimited"),
        ({"max_atempts": 3}, ("max_atempts",), "did you mean `max_attempts`?"),
        ({5: 3}, (5,), "unknown key"),
        ({"\ud800": 3}, ("\ud800",), "unknown key '\\ud800'"),
        ({"rules": [{"on": "timeout", "\ud800": 3}]}, ("rules", 0), "valid string"),
        ({"vary": {"url": "x"}}, ("vary",), "a list of mappings"),
        ({"vary": [{}, "x"]}, ("vary", 1), "({} changes none), not the text 'x'"),
        ({"vary": [{5: 1}]}, ("vary", 0), "a mapping of the step's own keys"),
        ({"vary": [{"a": float("nan")}]}, ("vary", 0), "finite numbers"),
        ({"backoff": "exponental"}, ("backoff",), "did you mean `exponential`?"),
        ({"backoff": 3}, ("backoff",), "known are"),
        ({"backoff_multiplier": 0.5}, ("backoff_multiplier",), "at least 1"),
        ({"backoff_multiplier": float("inf")}, ("backoff_multiplier",), "finite"),
        ({"initial_delay": "5 parsecs"}, ("initial_delay",), "not a duration"),
        ({"jitter": 1.5}, ("jitter",), "from 0 to 1"),
        ({"jitter": "some"}, ("jitter",), "full or equal"),
        ({"infra_attempts": -1}, ("infra_attempts",), "negative"),
        ({"max_snoozes": -1}, ("max_snoozes",), "negative"),
        ({"attempt_cost": -0.1}, ("attempt_cost",), "cannot be negative"),
        ({"retryable": "no"}, ("retryable",), "true or false"),
        ({"retry_when": True}, ("retry_when",), "in quotes"),
        ({"stop_when": " "}, ("stop_when",), "empty"),
        ({"retry_on": ["http_503", "timeuot"]}, ("retry_on", 1), "did you mean `timeout`?"),
        ({"retry_on": "http_99999"}, ("retry_on",), "unknown failure class or reason"),
        ({"retry_on": [7]}, ("retry_on", 0), "the number 7"),
        ({"retry_on": {"a": 1}}, ("retry_on",), "a mapping"),
        ({"retry_on": ["budget"]}, ("retry_on", 0), "never retried by itself"),
        ({"retry_on": "cancelled"}, ("retry_on",), "never retried by itself"),
        ({"rules": {}}, ("rules",), "a list"),
        ({"rules": [3]}, ("rules", 0), "a mapping such as"),
        ({"rules": [{"retry": False}]}, ("rules", 0), "needs `on`"),
        ({"rules": [{"on": "timeout", "when": "x", "retry": True}]}, ("rules", 0), "not both"),
        ({"rules": [{"on": "timeout"}]}, ("rules", 0), "changes nothing"),
        ({"rules": [{"on": [], "retry": True}]}, ("rules", 0, "on"), "never match"),
        ({"rules": [{"on": "timeout", "max_attempts": 0}]}, ("rules", 0, "max_attempts"), "retry: false"),
        ({"rules": [{"on": "timeout", "max_attempts": "unlimited"}]}, ("rules", 0, "max_attempts"), "leave"),
        ({"rules": [{"on": "timeout", "retry_when": "x"}]}, ("rules", 0, "retry_when"), "unknown key"),
        ({"rules": [{"on": "timeout", "retry": True, "rules": []}]}, ("rules", 0, "rules"), "of its own"),
        ({"rules": [{"on": "timeout", "retry": True, "vary": []}]}, ("rules", 0, "vary"), "of its own"),
    ],
)
def test_what_is_refused_says_where_and_what_to_do(value, path, says):
    (found, *others) = findings_of(value)
    assert found[0] == ("retry", *path)
    assert says in found[1]
    assert not others


def test_the_nearest_field_is_suggested():
    [(_, says)] = findings_of({"atempt_cost": 1})
    assert "did you mean `attempt_cost`?" in says


def test_a_decision_by_hand_takes_it():
    assert parse_retry({"attempt_cost": 1}, ("retry",)) == ({"attempt_cost": 1.0}, [])
    _, [(path, says)] = parse_retry({"attempt_cost": -0.1}, ("retry",))
    assert (path, says) == (("retry", "attempt_cost"), "attempt_cost cannot be negative")


def test_a_stored_definition_may_have_it():
    source = "name: w\nworkflow: [{step: s, type: python, task: 't:t', retry: {max_attempts: 2}}]\n"
    body = parse_workflow(source).as_dict()
    body["steps"][0]["retry"]["attempt_cost"] = 0.5
    plan = make_plan(Workflow.from_dict(body), None)
    assert plan.steps["s"].policy.policy.attempt_cost == 0.5


def test_every_error_is_reported_at_once():
    assert len(findings_of({"max_attempts": 0, "jitter": 2, "rules": [{"retry": 1}, 5], "nope": 1})) == 6


def test_the_language_knows_every_field_of_the_types():
    assert set(RETRY_FIELDS) == {f.name for f in fields(Policy)} - {
        "forgives_only_lost"
    }  # no file can set it
    assert set(RULE_FIELDS) == {f.name for f in fields(Rule)}


def test_published_reasons_are_known_and_have_a_meaning():
    assert all(is_known_reason(name) and meaning for name, meaning in REASONS.items())
    assert set(REASON_OF_CLASS.values()) <= set(REASONS)
    assert not is_known_reason("http_5xx")
    assert not is_known_reason("exit_code_")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*RETRY_FIELDS, "on", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(json_values)
def test_any_value_is_a_patch_or_has_findings(value):
    patch, findings = parse_retry(value, ())
    assert (patch is None) == bool(findings)


def test_durations_in_a_file_are_those_of_the_types():
    """What a file may write as `1m`, a hash and an explanation treat as a duration too."""

    def reads_a_minute(body):
        patch, _ = parse_retry(body, ())
        return patch is not None and 60.0 in patch.get("rules", [patch])[0].values()

    assert {name for name in RETRY_FIELDS if reads_a_minute({name: "1m"})} == duration_fields(Policy)
    rules = {name for name in RULE_FIELDS if reads_a_minute({"rules": [{"on": "timeout", name: "1m"}]})}
    assert rules == duration_fields(Rule)
