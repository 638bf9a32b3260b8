"""Tests the outcomes that callbacks of async steps are read as, by a table."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tenax.model.attempt.callback import (
    JSON,
    MESSAGE_LIMIT,
    PROBLEM,
    UnreadableCallback,
    UnsupportedCallback,
    read_callback,
)
from tenax.model.attempt.classify import classify
from tenax.model.attempt.outcome import FAILURE_CLASSES, INFRASTRUCTURE, Facts, Outcome, Usage
from tenax.model.attempt.reasons import SERVER_REASONS
from tenax.model.json_text import json_fault

NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
SAYS_NOTHING = "the callback says that it failed"


def read(said: Any, kind: str | None = JSON, retry_after: str | None = None) -> Outcome:
    body = said if isinstance(said, bytes) else json.dumps(said).encode()
    return read_callback(kind, body, retry_after, NOW)


def facts_of(outcome: Outcome) -> dict[str, Any]:
    """The facts that are set."""
    assert outcome.status == "failed"
    assert outcome.facts is not None
    unset = Facts()
    found = {name: getattr(outcome.facts, name) for name in Facts.__slots__}
    return {name: value for name, value in found.items() if value != getattr(unset, name)}


@pytest.mark.parametrize("kind", [None, "", JSON, "text/plain", "application/x-www-form-urlencoded"])
def test_no_body_is_a_success_without_a_result(kind):
    assert read(b"", kind) == Outcome("succeeded")


@pytest.mark.parametrize(
    ("said", "result"),
    [
        ({"rows": 3}, {"rows": 3}),
        ({}, {}),
        ([1, 2], [1, 2]),
        ("done", "done"),
        (5, 5),
        (False, False),
        (None, None),
        ({"success": True}, None),
        ({"success": True, "result": [1]}, [1]),
        ({"success": True, "output": 2}, 2),
        ({"success": True, "result": None, "output": 2}, None),
        ({"status": "completed", "result": {"status": "shipped"}}, {"status": "shipped"}),
        ({"success": None, "status": "completed"}, None),
        ({"success": True, "status": "completed", "result": 1}, 1),
        ({"error": "no envelope", "usage": 5}, {"error": "no envelope", "usage": 5}),
    ],
)
def test_success(said, result):
    assert read(said) == Outcome("succeeded", result=result)


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        ({"success": False}, {"fatal": True, "message": SAYS_NOTHING}),
        ({"success": False, "error": "no such row"}, {"fatal": True, "message": "no such row"}),
        ({"success": False, "error": {"message": "no", "code": 3}}, {"fatal": True, "message": "no"}),
        ({"success": False, "error": {"code": 3}}, {"fatal": True, "message": '{"code": 3}'}),
        ({"success": False, "error": "", "message": "m"}, {"fatal": True, "message": "m"}),
        ({"status": "failed", "result": [1]}, {"fatal": True, "message": SAYS_NOTHING, "data": [1]}),
        ({"success": True, "status": "failed"}, {"fatal": True, "message": SAYS_NOTHING}),
        ({"success": False, "status": "completed"}, {"fatal": True, "message": SAYS_NOTHING}),
        (
            {"success": False, "failure": {"class": "transient", "message": "busy"}},
            {"failure_class": "transient", "message": "busy"},
        ),
        (
            {"success": False, "error": "e", "failure": {"class": "denied", "reason": "quota_spent"}},
            {"failure_class": "denied", "reason": "quota_spent", "message": "e"},
        ),
        (
            {"success": False, "failure": {"reason": "quota_spent"}},
            {"fatal": True, "reason": "quota_spent", "message": SAYS_NOTHING},
        ),
        (
            {"success": False, "failure": {"class": "transient", "retry_after": "2m"}},
            {"failure_class": "transient", "retry_after": 120.0, "message": SAYS_NOTHING},
        ),
        ({"success": False, "failure": {}}, {"fatal": True, "message": SAYS_NOTHING}),
        ({"status": "budget_exceeded", "error": "e"}, {"failure_class": "budget", "message": "e"}),
    ],
)
def test_failure(said, facts):
    assert facts_of(read(said)) == facts


@pytest.mark.parametrize("name", sorted(INFRASTRUCTURE))
def test_the_classes_of_infrastructure_are_not_believed(name):
    outcome = read({"success": False, "failure": {"class": name, "reason": "worker_heartbeat_stale"}})
    failure = classify(outcome.facts)
    assert (failure.failure_class, failure.reason) == ("logical", "reported_failure")


@pytest.mark.parametrize("reason", sorted(SERVER_REASONS))
def test_nor_are_reasons_that_only_the_server_may_give(reason):
    failure = classify(read({"success": False, "failure": {"reason": reason}}).facts)
    assert (failure.failure_class, failure.reason) == ("logical", "reported_failure")
    failure = classify(read({"success": False, "failure": {"class": "transient", "reason": reason}}).facts)
    assert (failure.failure_class, failure.reason) == ("transient", "unclassified")


@pytest.mark.parametrize("name", sorted(set(FAILURE_CLASSES) - INFRASTRUCTURE))
def test_every_other_class_is(name):
    assert classify(read({"success": False, "failure": {"class": name}}).facts).failure_class == name


@pytest.mark.parametrize(
    ("problem", "facts"),
    [
        (
            {"type": "about:blank", "title": "Busy", "status": 503, "detail": "come back later", "queue": 9},
            {
                "status_code": 503,
                "message": "come back later",
                "data": {"type": "about:blank", "title": "Busy", "queue": 9},
            },
        ),
        ({"title": "Busy", "status": 429}, {"status_code": 429, "message": "Busy"}),
        ({"title": "No"}, {"fatal": True, "message": "No"}),
        ({}, {"fatal": True, "message": SAYS_NOTHING}),
        ({"status": 200, "detail": "d"}, {"fatal": True, "message": "d"}),
        ({"status": "503", "detail": "d"}, {"fatal": True, "message": "d"}),
        ({"status": True, "detail": ""}, {"fatal": True, "message": SAYS_NOTHING, "data": {"detail": ""}}),
        ({"status": 10**30, "detail": "d"}, {"fatal": True, "message": "d"}),
    ],
)
def test_a_problem_is_a_failure(problem, facts):
    assert facts_of(read(problem, "Application/Problem+JSON; charset=utf-8")) == facts


@pytest.mark.parametrize(
    ("status", "failure_class"), [(503, "transient"), (429, "transient"), (403, "denied"), (404, "logical")]
)
def test_a_problems_status_gives_its_class(status, failure_class):
    failure = classify(read({"status": status}, PROBLEM).facts)
    assert (failure.failure_class, failure.reason) == (failure_class, f"http_{status}")


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("30", 30.0),
        ("Sat, 31 Jan 2026 12:01:00 GMT", 60.0),
        ("Sat, 31 Jan 2026 11:00:00 GMT", 0.0),
        ("soon", None),
    ],
)
def test_retry_after(header, seconds):
    assert read({"status": 503}, PROBLEM, header).facts.retry_after == seconds
    assert read({"success": False}, JSON, header).facts.retry_after == seconds
    own = read({"success": False, "failure": {"retry_after": 7}}, JSON, header)
    assert own.facts.retry_after == 7


@pytest.mark.parametrize(
    ("usage", "taken"),
    [
        ({"cost_usd": 0.25, "tokens": 100}, Usage(0.25, 100)),
        ({"tokens": 100}, Usage(None, 100)),
        ({"cost_usd": -1, "tokens": -1}, Usage(0.0, 0)),
        ({"cost_usd": 10**400, "tokens": 10**400}, Usage(1e15, 2**63 - 1)),
        ({"cost_usd": "much", "tokens": True}, Usage(None, None)),
        ("much", None),
        (None, None),
    ],
)
def test_usage_is_taken_however_it_ended(usage, taken):
    assert read({"success": True, "usage": usage}).usage == taken
    assert read({"status": "failed", "usage": usage}).usage == taken
    assert read({"status": "budget_exceeded", "usage": usage}).usage == taken
    assert read({"status": 503, "usage": usage}, PROBLEM).usage == taken


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b" ", "not JSON"),
        (b"NaN", "not JSON"),
        (b"[" * 100_000, "recursion limit"),
        ({"success": "yes"}, 'success: "yes" is neither true nor false'),
        ({"success": 1}, "neither true nor false"),
        ({"status": "faild"}, "status: \"faild\" is none of completed, failed, budget_exceeded; did you mean 'failed'"),
        ({"status": "shipped"}, 'status: "shipped" is none of'),
        ({"status": ["failed"]}, "is none of"),
        ({"success": None}, "both are null"),
        ({"success": True, "status": "shipped"}, "is none of"),
        ({"success": False, "failure": "bad"}, 'failure: "bad" is not an object'),
        ({"success": False, "failure": {"clas": "x"}}, "failure: unknown key \"clas\"; did you mean 'class'"),
        ({"success": False, "failure": {"class": "transint"}}, "did you mean 'transient'"),
        ({"success": False, "failure": {"class": ["transient"]}}, "is no class"),
        ({"success": False, "failure": {"reason": "two words"}}, "failure.reason"),
        ({"success": False, "failure": {"reason": "r" * 101}}, "failure.reason"),
        ({"success": False, "failure": {"retry_after": "soon"}}, "failure.retry_after: 'soon'"),
        ({"success": False, "failure": {"retry_after": -1}}, "negative"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_in_plain_words(said, words):
    with pytest.raises(UnreadableCallback) as raised:
        read(said)
    assert words in raised.value.message
    assert len(raised.value.message) < 300
    assert raised.value.http_status == 400


@pytest.mark.parametrize("said", [b"", b"{", b"[]", b"null"])
def test_a_problem_that_is_no_object_is_refused(said):
    with pytest.raises(UnreadableCallback) as raised:
        read(said, PROBLEM)
    assert raised.value.http_status == 400


@pytest.mark.parametrize(
    "kind",
    [None, "", "text/plain", "application/xml", "application/ld+json", "application/jsonx", "x" * 9000],
)
def test_other_content_types_are_refused(kind):
    with pytest.raises(UnsupportedCallback) as raised:
        read(b"{}", kind)
    assert raised.value.http_status == 415
    assert "Content-Type: application/json" in raised.value.remedy


def test_a_long_message_is_cut():
    for outcome in (read({"success": False, "error": "x" * 9000}), read({"detail": "x" * 9000}, PROBLEM)):
        assert len(outcome.facts.message) == MESSAGE_LIMIT


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["success", "status", "result", "output", "error", "message", "failure", "usage", "detail", "title", "x"]
)
WORDS = st.sampled_from([True, False, "completed", "failed", "budget_exceeded", 503, *FAILURE_CLASSES])
FAILURES = st.dictionaries(
    st.sampled_from(["class", "reason", "message", "retry_after"]), WORDS | VALUES, max_size=4
)
ENVELOPES = st.dictionaries(KEYS, WORDS | FAILURES | VALUES, max_size=6)


@given(
    said=ENVELOPES | VALUES,
    kind=st.sampled_from([JSON, PROBLEM]),
    retry_after=st.none() | st.text(max_size=40),
)
def test_whatever_comes_is_an_outcome_or_refused(said, kind, retry_after):
    body = json.dumps(said).encode()
    try:
        outcome = read_callback(kind, body, retry_after, NOW)
    except UnreadableCallback:
        return
    if kind == PROBLEM:
        assert outcome.status == "failed"
    if outcome.status == "failed":
        failure = classify(outcome.facts)
        assert failure.failure_class not in INFRASTRUCTURE
        assert outcome.facts.retry_after is None or outcome.facts.retry_after >= 0
        json.dumps(failure.as_dict())
    else:
        assert outcome.status == "succeeded"
        assert outcome.facts is None


@given(body=st.binary(max_size=200), kind=st.sampled_from([JSON, PROBLEM, "text/plain"]))
def test_no_bytes_do_harm(body, kind):
    with contextlib.suppress(UnreadableCallback):
        read_callback(kind, body, None, NOW)


@given(result=VALUES)
def test_a_result_in_its_envelope_comes_back_as_it_was(result):
    assume(json_fault(result) is None)
    assert read({"success": True, "result": result}).result == result
