"""Sends callbacks of strangers, with any body, header and receipt. The step ends at most once, and only by its own receipt."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from hypothesis import given, note
from hypothesis import strategies as st
from support.strategies.hostile_strategies import (
    DEEP,
    JSON,
    JSON_PIECES,
    ODD_TEXTS,
    ODD_VALUES,
    THROUGH_A_SERVER,
    assert_brief,
    broken_texts,
    fuzzed,
    mutated,
    no_hang,
)
from support.worker_requests import one_by_one, report_on

from tenax.errors import UsageError
from tenax.model.attempt.callback import read_callback
from tenax.model.json_text import json_fault

ASYNC = """
name: jobs
workflow:
  - step: convert
    type: http
    queue: callbacks
    url: http://callee.invalid/jobs
    method: POST
    async: {deadline: 1h}
    retry: false
"""
VALID = (
    {"success": True, "result": {"pages": 3}, "usage": {"cost_usd": 0.5, "tokens": 7}},
    {
        "status": "failed",
        "failure": {"class": "transient", "reason": "busy", "message": "no", "retry_after": "5s"},
    },
    {"status": "budget_exceeded", "error": {"message": "spent"}, "output": [1]},
    {"type": "about:blank", "title": "Busy", "status": 503, "detail": "later", "usage": {"tokens": 1}},
)
_AS_JSON = st.one_of(st.sampled_from(VALID).flatmap(mutated), JSON, ODD_VALUES, DEEP)
CALLBACKS = st.one_of(
    _AS_JSON.map(lambda value: json.dumps(value, default=str).encode()),
    _AS_JSON.map(lambda value: json.dumps(value, default=str).encode()),
    st.sampled_from(VALID)
    .flatmap(lambda valid: broken_texts(json.dumps(valid), JSON_PIECES))
    .map(lambda text: text.encode("utf-8", "replace")),
    st.binary(max_size=40),
)
MEDIA_TYPES = st.sampled_from(
    ["application/json"] * 3
    + [
        "application/problem+json",
        "application/problem+json; charset=x",
        "text/html",
        "",
        "a" * 500,
        "é/é",
        ";",
    ]
)
HINTS = st.none() | st.sampled_from(
    ["5", "-1", "9" * 90, "soon", "Sun, 06 Nov 1994 08:49:37 GMT", "é", "1e5", "inf", ""]
)


@given(MEDIA_TYPES | st.none() | st.text(max_size=20), CALLBACKS, HINTS | st.text(max_size=30))
@fuzzed(250)
def test_a_callback_is_an_outcome_or_refused(media_type, body, hint):
    now = datetime(2026, 1, 31, tzinfo=UTC)
    with no_hang():
        try:
            outcome = read_callback(media_type, body, hint, now)
        except UsageError as refused:
            assert_brief(refused, 2_000)
            return
    assert outcome.status in ("succeeded", "failed")
    assert (outcome.facts is None) == (outcome.status == "succeeded")
    assert json_fault(outcome.result) is None
    assert read_callback(media_type, body, hint, now) == outcome


def begin(target: Any) -> dict[str, Any]:
    """Starts an execution whose only step waits for its callback."""
    execution = target.http.post("/v1/executions", json={"source": ASYNC}).json()["id"]
    wanted = {
        "worker": f"w-{uuid4()}",
        "grant": str(uuid4()),
        "slots": 1,
        "runtimes": ["http"],
        "queues": ["callbacks"],
    }
    [given_item] = one_by_one(
        target.http.post("/v1/worker/lease", json={**wanted, "execution_id": execution, "wait": 20}).json()
    )
    outcome = {"status": "accepted", "result": {"status_code": 202, "headers": {}, "data": None}}
    [answer] = target.http.post("/v1/worker/report", json=[report_on(given_item, outcome)]).json()
    assert answer["status"] == "applied"
    return given_item


RECEIPTS = st.sampled_from(
    ["own"] * 4 + ["", "x", "a" * 300, "%00", "..", "%2e%2e", "é", "own0", "Own", "%ff", "own/own"]
)
PLACES = st.sampled_from(["own"] * 4 + ["item", "attempt", "execution", "zero", "huge"])
QUERIES = st.sampled_from(
    [""] * 4 + ["?step=convert", "?step=%00", "?item=0", "?item=-1", "?x=1", "?step=a&step=b", "?%ff"]
)
CALLS = st.tuples(CALLBACKS, MEDIA_TYPES, HINTS, RECEIPTS, PLACES, QUERIES)


def path_of(given_item: dict[str, Any], receipt: str, place: str) -> str:
    numbers = {name: given_item[f"{name}_id"] for name in ("execution", "item")} | {
        "attempt": given_item["attempt"]
    }
    if place in numbers:
        numbers[place] += 1
    elif place in ("zero", "huge"):
        numbers["attempt"] = 0 if place == "zero" else 10**30
    shown = receipt.replace("own", given_item["receipt"])
    return f"/v1/callbacks/{numbers['execution']}/{numbers['item']}/{numbers['attempt']}/{shown}"


@given(st.lists(CALLS, min_size=1, max_size=4), st.booleans())
@fuzzed(50, share=THROUGH_A_SERVER)
def test_a_step_is_ended_at_most_once_and_by_its_own_receipt_only(target, calls, at_once):
    given_item = begin(target)

    def call(one: Any) -> tuple[bool, Any]:
        body, media_type, hint, receipt, place, query = one
        headers = {"content-type": media_type.encode("latin-1")}
        if hint is not None:
            headers["retry-after"] = hint.encode("latin-1")
        path = path_of(given_item, receipt, place)
        return receipt == place == "own", target.http.post(path + query, content=body, headers=headers)

    if at_once:
        with ThreadPoolExecutor(len(calls)) as threads:
            answers = list(threads.map(call, calls))
    else:
        answers = [call(one) for one in calls]
    applied = 0
    for is_own, answer in answers:
        note(f"{answer.status_code} {answer.text[:300]}")
        assert answer.status_code < 500
        if answer.status_code >= 400:
            assert answer.json()["status"] == answer.status_code
        elif answer.json()["status"] == "applied":
            assert is_own
            applied += 1
    found = target.http.get(f"/v1/executions/{given_item['execution_id']}/events")
    types = [event["type"] for event in found.json()]
    ends = sum(types.count(one) for one in ("execution_completed", "execution_failed"))
    assert ends == min(applied, 1)
    assert sum(types.count(one) for one in ("action_completed", "action_error")) == ends
    assert given_item["receipt"] not in found.text
    assert target.is_alive()


@given(st.sampled_from(ODD_TEXTS), CALLBACKS)
@fuzzed(20, share=THROUGH_A_SERVER)
def test_no_way_in_below_the_path_of_callbacks(target, path, body):
    """Callbacks need no token: nothing else may answer there."""
    shown = quote(path.encode("utf-8", "replace"))
    for below in (
        f"/v1/callbacks/{shown}",
        f"/v1/callbacks/../executions{shown}",
        f"/v1/callbacks//{shown}//x/y",
    ):
        answer = target.http.post(below, content=body, headers={"content-type": "application/json"})
        assert 400 <= answer.status_code < 500
