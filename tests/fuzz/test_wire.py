"""Sends bodies that clients and workers could send, but should not: a status below 500, and nothing half-written."""

from __future__ import annotations

import contextlib
import json
from typing import Any
from uuid import uuid4

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies.hostile_strategies import (
    JSON_PIECES,
    ODD_VALUES,
    THROUGH_A_SERVER,
    assert_sound,
    broken_texts,
    fuzzed,
    mutated,
    workflow_texts,
)
from support.worker_requests import one_by_one

from tenax.server.problems import InvalidRequest
from tenax.server.schema import requests as bodies
from tenax.server.schema import worker_requests
from tenax.server.schema.body import Body

SOURCE = """
name: x
input: {a: {default: {b: [1, "two", null]}}, n: {type: integer, default: 3}}
workflow:
  - {step: one, type: python, task: t, args: {a: "{{ input.a }}", n: "{{ input.n }}"}}
  - {step: two, type: process, command: ["echo", "{{ input.a.b }}"], for_each: "{{ input.a.b }}"}
  - {step: three, type: sleep, for: "{{ input.n }}"}
outputs: {a: "{{ input.a }}"}
"""
UUID = "0" * 8 + "-0000-0000-0000-" + "0" * 12
OUTCOME = {
    "status": "failed",
    "result": {"a": [1]},
    "facts": {"message": "no", "status_code": 503, "retry_after": 1.5, "data": {"x": [1, None]}},
    "usage": {"cost_usd": 0.5, "tokens": 100},
}
SUBMISSION = {
    "source": SOURCE,
    "filename": "w.yaml",
    "input": {"n": 1},
    "base_dir": "/tmp",
    "files": {"a": "b"},
}
BODIES: dict[str, tuple[Body[Any], Any]] = {
    "/v1/executions": (bodies.SUBMISSION, SUBMISSION),
    "/v1/executions/batch": (bodies.BATCH_OF_SUBMISSIONS, {"submissions": [SUBMISSION, {"workflow": "x"}]}),
    "/v1/executions/1/signals": (bodies.SIGNAL, {"name": "go", "data": {"a": [1.5]}, "key": "k"}),
    "/v1/executions/1/cancel": (bodies.REASON, {"reason": "why"}),
    "/v1/executions/1/retry": (bodies.RETRY, {"reason": "why", "new": True}),
    "/v1/workflows": (bodies.WORKFLOW, {"source": SOURCE, "filename": "w.yaml", "files": {"a": "b"}}),
    "/v1/worker/register": (
        worker_requests.REGISTRATION,
        {
            "worker": "w",
            "runtimes": ["python"],
            "labels": {"a": "b"},
            "slots": 2,
            "life": UUID,
            "protocol": 2,
        },
    ),
    "/v1/worker/lease": (
        worker_requests.LEASE,
        {"worker": "w", "grant": UUID, "slots": 1, "runtimes": ["python"], "wait": 0, "lost_grants": [UUID]},
    ),
    "/v1/worker/report": (
        worker_requests.REPORTS,
        [
            {
                "outcome": [OUTCOME],
                "execution_id": [1],
                "item_id": [1],
                "attempt": [1],
                "token": [UUID],
                "step": "one",
                "item": [None],
            }
        ],
    ),
    "/v1/worker/release": (
        worker_requests.RELEASES,
        [{"execution_id": 1, "item_id": 1, "attempt": 1, "token": UUID, "reason": "draining", "detail": "x"}],
    ),
    "/v1/worker/heartbeat": (
        worker_requests.HEARTBEAT,
        {"worker": "w", "holding": [{"item_id": 1, "token": UUID}], "health": {"status": "healthy"}},
    ),
    "/v1/worker/ended": (worker_requests.ENDED_LIFE, {"worker": "w", "life": UUID}),
}
PLACES = st.sampled_from(sorted(BODIES))
_TYPES = (
    "application/json",
    "application/json; charset=utf-16",
    "Application/JSON",
    "text/plain",
    "",
    "application/json,x",
)


@st.composite
def sent(draw: st.DrawFn, place: str) -> bytes:
    """A body for this place: the valid one after something happened to it, or anything at all."""
    valid = BODIES[place][1]
    match draw(st.integers(0, 5)):
        case 0:
            return draw(st.binary(max_size=60))
        case 1:
            text = draw(broken_texts(json.dumps(valid), JSON_PIECES))
            return text.encode("utf-8", draw(st.sampled_from(["replace", "surrogatepass"])))
        case _:
            return json.dumps(unparked(draw(mutated(valid)), place), default=str).encode()


def unparked(body: Any, place: str) -> Any:
    """The same, but nothing that would wait in the server."""
    if place.endswith("/lease") and isinstance(body, dict):
        wait = body.setdefault("wait", 0)
        if isinstance(wait, int | float) and wait > 0:
            body["wait"] = 0
    return body


@given(PLACES.flatmap(lambda place: st.tuples(st.just(place), sent(place))))
@fuzzed(200)
def test_a_body_is_read_or_refused_in_a_few_words(given_body):
    place, body = given_body
    said = b""
    try:
        BODIES[place][0].read(body)
    except InvalidRequest as refused:
        said = orjson.dumps(refused.problem())
    assert len(said) < 20_000 + 20 * len(body)


@given(
    PLACES.flatmap(lambda place: st.tuples(st.just(place), sent(place))),
    st.sampled_from(_TYPES) | st.just(_TYPES[0]),
)
@fuzzed(100, share=THROUGH_A_SERVER)
def test_a_server_answers_and_writes_all_or_nothing(target, given_body, media_type):
    place, body = given_body
    before = target.counted("select count(*) from tenax.execution")
    answer = target.http.post(place, content=body, headers={"content-type": media_type})
    assert_sound(answer)
    if answer.status_code >= 400:
        assert target.counted("select count(*) from tenax.execution") == before
    assert target.is_alive()


def work(target: Any) -> None:
    """Takes what there is to do, and hands all of it back as done or as failed."""
    wanted = {
        "worker": "w",
        "grant": str(uuid4()),
        "slots": 100,
        "runtimes": ["python", "http", "process"],
        "wait": 0,
    }
    granted = target.http.post("/v1/worker/lease", json=wanted)
    assert_sound(granted)
    for given_item in one_by_one(granted.json()):
        target.http.get(f"/v1/executions/{given_item['execution_id']}")


@given(workflow_texts(), st.dictionaries(st.sampled_from("abn"), ODD_VALUES, max_size=2))
@fuzzed(30, share=THROUGH_A_SERVER)
def test_whatever_is_submitted_others_are_served(target, text, inputs):
    before = target.counted("select count(*) from tenax.execution")
    body = json.dumps({"source": text, "filename": "w.yaml", "input": inputs}).encode()
    answer = target.http.post("/v1/executions", content=body, headers={"content-type": "application/json"})
    assert_sound(answer)
    after = target.counted("select count(*) from tenax.execution")
    if answer.status_code >= 400:
        assert after == before
    else:
        execution = answer.json()["id"]
        for what in ("", "/events", "/tree", "/explain"):
            assert_sound(target.http.get(f"/v1/executions/{execution}{what}"))
    work(target)
    assert target.is_alive()


@st.composite
def outcomes(draw: st.DrawFn) -> Any:
    return draw(mutated(OUTCOME) | mutated({"status": "succeeded", "result": {"a": [1]}}))


@given(outcomes(), outcomes())
@fuzzed(40, share=THROUGH_A_SERVER)
def test_an_attempt_is_ended_at_most_once_by_any_report(target, first, second):
    source = "name: r\nworkflow: [{step: a, type: python, task: t, queue: reports}]\n"
    execution = target.http.post("/v1/executions", json={"source": source}).json()["id"]
    wanted = {
        "worker": f"w-{uuid4()}",  # one that fails again and again would be given nothing
        "grant": str(uuid4()),
        "slots": 1,
        "runtimes": ["python"],
        "queues": ["reports"],
        "execution_id": execution,
        "wait": 20,
    }
    [given_item] = one_by_one(target.http.post("/v1/worker/lease", json=wanted).json())
    place = {name: [given_item[name]] for name in ("execution_id", "item_id", "attempt", "token")}
    for outcome in (first, second, {"status": "succeeded"}):
        with contextlib.suppress(RecursionError):
            body = json.dumps([{**place, "step": "a", "outcome": [outcome]}], default=str).encode()
            headers = {"content-type": "application/json"}
            assert_sound(target.http.post("/v1/worker/report", content=body, headers=headers))
    answer = target.http.get(f"/v1/executions/{execution}/events")
    assert_sound(answer)
    types = [event["type"] for event in answer.json()]
    assert sum(types.count(one) for one in ("execution_completed", "execution_failed")) <= 1
    assert sum(
        types.count(one) for one in ("action_completed", "action_error", "action_snoozed")
    ) <= types.count("action_started")


@pytest.mark.parametrize("place", sorted(BODIES))
def test_the_bodies_are_valid_before_anything_happens_to_them(place):
    kind, body = BODIES[place]
    kind.read(json.dumps(body).encode())
