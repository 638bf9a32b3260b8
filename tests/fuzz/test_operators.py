"""Sends what operators and viewers could send, but should not: filters, bulk jobs, actions, dead letters, figures."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, urlencode

from hypothesis import given
from hypothesis import strategies as st
from support.strategies.hostile_strategies import (
    ODD_TEXTS,
    THROUGH_A_SERVER,
    assert_sound,
    broken_texts,
    fuzzed,
    mutated,
    no_hang,
)

from tenax.errors import UsageError
from tenax.model.filters.fields import FIELDS
from tenax.model.filters.parse import parse_filter

PIECES = (
    "=", "!=", "-", ",", ".", "*", "@", '"', '\\"', "\\", " ", "\n", "%", "_", "'", ";--", "$1", ":exact", ":conditions", ":order",
    "status=failed", "since=2h", "until=1969-01-01T00:00:00Z", "parent=none", "parent=9223372036854775807", "input.a.b=1",
    "9" * 30, "2h", "x" * 300, "\u0130", "\ufeff",
)  # fmt: skip
VALID = (
    "status=failed,running workflow=sync-* -reason=http_5* since=2h",
    'text="connection refused" input.customer."a b"=42 label=gpu:a100',
    "class=transient step=charge queue=slow worker=blue-* key=night* compensation=failed parent=none",
)
LETTER_FILTER = {
    "execution": 1,
    "workflow": "x",
    "class": "transient",
    "reason": "http_500",
    "since": "1h",
    "until": "2026-01-01",
}
BODIES: dict[tuple[str, str], Any] = {
    ("PUT", "/v1/filters/mine"): {"filter": VALID[0]},
    ("POST", "/v1/bulk"): {
        "action": "pause", "filter": VALID[0], "reason": "why", "rate": 2.5, "canary": 3, "max_failed": 10.0,
    },
    ("POST", "/v1/bulk/1/stop"): {"reason": "why"},
    ("POST", "/v1/dead-letters/redrive"): {"ids": [1, 2], "reason": "why"},
    ("POST", "/v1/dead-letters/discard"): {"note": "why", "filter": LETTER_FILTER},
    ("POST", "/v1/executions/1/retry"): {"step": "one", "item": 0, "reason": "why"},
    ("POST", "/v1/executions/1/complete"): {"step": "one", "item": 0, "reason": "why", "result": {"a": [1, None]}},
    ("POST", "/v1/executions/1/reschedule"): {
        "step": "one", "reason": "why",
        "policy": {"max_attempts": 3, "initial_delay": "1s", "rules": [{"on": ["http_500"], "when": "attempt > 1", "retry": True}]},
    },
    ("POST", "/api/v1/executions"): {
        "action_ref": "x", "parameters": {"n": 1}, "config": {"retry_of": 1, "retry_count": 1, "retry_reason": "why"},
    },
}  # fmt: skip
QUERIES: dict[str, dict[str, str]] = {
    "/v1/executions": {"filter": VALID[1], "status": "failed", "since": "1h", "before": "9", "limit": "5"},
    "/v1/stats": {"by": "step", "since": "2026-01-01T00:00:00Z", "until": "1h"},
    "/v1/dead-letters": {
        "status": "open",
        "all": "true",
        "execution": "1",
        "class": "transient",
        "since": "1h",
        "limit": "5",
    },
    "/v1/dead-letters/groups": {"workflow": "x", "reason": "http_500", "until": "1h"},
    "/v1/bulk": {"limit": "5"},
    "/v1/alerts": {},
    "/metrics": {},
}
FILTERS = st.sampled_from(VALID).flatmap(lambda text: broken_texts(text, PIECES))


@given(FILTERS)
@fuzzed(200)
def test_a_filter_is_read_and_written_or_refused_in_a_few_words(text):
    refused = ""
    with no_hang():
        try:
            chosen = parse_filter(text)
            assert parse_filter(str(chosen), stored=True) == chosen
        except UsageError as error:
            refused = error.message
    assert len(refused) < 1_000


@given(FILTERS, st.sampled_from(sorted(FIELDS)))
@fuzzed(60, share=THROUGH_A_SERVER)
def test_a_server_answers_every_filter(target, text, field):
    for filter_ in (text, f"{field}={text}"):
        assert_sound(target.http.get("/v1/executions", params={"filter": filter_[:4_000]}))
    assert target.is_alive()


@given(
    st.sampled_from(sorted(BODIES)).flatmap(lambda place: st.tuples(st.just(place), mutated(BODIES[place])))
)
@fuzzed(100, share=THROUGH_A_SERVER)
def test_a_server_answers_every_request_of_operators(target, sent):
    (method, place), body = sent
    content = json.dumps(body, default=str).encode()
    assert_sound(
        target.http.request(method, place, content=content, headers={"content-type": "application/json"})
    )
    assert target.is_alive()


@given(st.sampled_from(sorted(QUERIES)), st.data())
@fuzzed(100, share=THROUGH_A_SERVER)
def test_a_server_answers_every_question_of_viewers(target, place, data):
    params = dict(QUERIES[place])
    if params:
        name = data.draw(st.sampled_from(sorted(params)))
        params[name] = data.draw(st.sampled_from(ODD_TEXTS) | st.text(max_size=30))
    text = urlencode(params, quote_via=quote, errors="replace")
    assert_sound(target.http.get(f"{place}?{text}"))
    assert target.is_alive()
