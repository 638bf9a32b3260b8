"""Tests callbacks over HTTP: who may call back, what is read, and the result of each call."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from support.waiting import eventually
from support.worker_requests import one_by_one, report_on

ASYNC = """
name: jobs
workflow:
  - step: convert
    type: http
    url: http://callee.invalid/jobs
    method: POST
    async: {deadline: 1h}
    retry: {max_attempts: 3, initial_delay: 1h, jitter: 0}
"""
PROBLEM = {"content-type": "application/problem+json"}


def lease(http: Any) -> dict[str, Any]:
    body = {"worker": "w", "grant": str(uuid4()), "slots": 1, "runtimes": ["http"], "wait": 20}
    [given] = one_by_one(http.post("/v1/worker/lease", json=body).json())
    return given


def report(http: Any, given: dict[str, Any], status: str = "accepted") -> dict[str, Any]:
    outcome = {"status": status, "result": {"status_code": 202, "headers": {}, "data": None}}
    [answer] = http.post("/v1/worker/report", json=[report_on(given, outcome)]).json()
    return answer


def begin(http: Any) -> dict[str, Any]:
    http.post("/v1/executions", json={"source": ASYNC})
    return lease(http)


def get(http: Any, given: dict[str, Any]) -> dict[str, Any]:
    return http.get(f"/v1/executions/{given['execution_id']}").json()


def types(http: Any, given: dict[str, Any]) -> list[str]:
    return [e["type"] for e in http.get(f"/v1/executions/{given['execution_id']}/events").json()]


@pytest.fixture
def http(server) -> Iterator[Any]:
    with server.http() as made:
        yield made


@pytest.fixture
def accepted(http) -> dict[str, Any]:
    given = begin(http)
    assert report(http, given)["status"] == "applied"
    return given


def test_the_callback_url_is_the_servers_own_and_carries_attempt_and_receipt(server, http) -> None:
    given = begin(http)
    place = "/".join(str(given[name]) for name in ("execution_id", "item_id", "attempt", "receipt"))
    assert given["callback"].startswith(f"{server.url}/v1/callbacks/{place}")


def test_the_callback_url_is_the_one_of_the_settings(start) -> None:
    with start(callback_url="https://tenax.example/hooks").http() as http:
        assert begin(http)["callback"].startswith("https://tenax.example/hooks/v1/callbacks/")


def test_a_success_completes_the_step(http, accepted) -> None:
    answer = http.post(accepted["callback"], json={"success": True, "result": {"pages": 3}})
    assert (answer.status_code, answer.json()) == (200, {"status": "applied", "verdict": "complete"})
    execution = get(http, accepted)
    assert (execution["status"], execution["result"]) == ("completed", {"convert": {"pages": 3}})


@pytest.mark.parametrize(
    "body",
    [
        {"echo": {"Tenax-Receipt": "RECEIPT"}, "RECEIPT": ["RECEIPT"]},
        {"success": True, "result": "CALLBACK"},
        {"success": False, "error": "cannot reach CALLBACK", "result": "RECEIPT"},
        {"success": False, "failure": {"class": "transient", "message": "RECEIPT"}},
    ],
)
def test_a_callee_that_sends_its_receipt_back_does_not_publish_it(http, accepted, body) -> None:
    text = json.dumps(body).replace("CALLBACK", accepted["callback"]).replace("RECEIPT", accepted["receipt"])
    answer = http.post(accepted["callback"], content=text, headers={"content-type": "application/json"})
    assert answer.json()["status"] == "applied"
    late = http.post(accepted["callback"], content=text, headers={"content-type": "application/json"})
    assert late.json()["status"] == "late"
    events = http.get(f"/v1/executions/{accepted['execution_id']}/events").text
    told = events + json.dumps(get(http, accepted))
    assert "[receipt]" in told
    assert accepted["receipt"] not in told


def test_no_body_at_all_is_a_success(http, accepted) -> None:
    assert http.post(accepted["callback"]).json()["status"] == "applied"
    assert get(http, accepted)["result"] == {"convert": None}


def test_the_same_callback_again_changes_nothing(http, accepted) -> None:
    for _ in range(3):
        assert http.post(accepted["callback"], json={"pages": 3}).status_code == 200
    late = http.post(accepted["callback"], json={"success": False})
    assert (late.status_code, late.json()["status"]) == (200, "late")
    assert get(http, accepted)["status"] == "completed"
    assert types(http, accepted).count("action_completed") == 1


def test_a_callback_may_come_before_the_2xx(http) -> None:
    given = begin(http)
    assert http.post(given["callback"], json={"pages": 3}).json()["status"] == "applied"
    assert report(http, given)["status"] == "late"
    assert get(http, given)["result"] == {"convert": {"pages": 3}}


def test_a_failure_is_decided_on_as_any_other(http, accepted) -> None:
    problem = b'{"title": "Busy", "status": 503, "detail": "the queue is full"}'
    answer = http.post(accepted["callback"], content=problem, headers={**PROBLEM, "retry-after": "7200"})
    assert answer.json() == {"status": "applied", "verdict": "retry"}
    events = http.get(f"/v1/executions/{accepted['execution_id']}/events").json()
    [retry] = [e["data"] for e in events if e["type"] == "step_retry"]
    assert (retry["decision"]["delay"]["hint"], retry["last_error"]) == (7200.0, "the queue is full")
    [error] = [e["data"]["failure"] for e in events if e["type"] == "action_error"]
    assert (error["class"], error["reason"]) == ("transient", "http_503")


def test_a_failure_that_the_callee_calls_final_is_final(http, accepted) -> None:
    answer = http.post(accepted["callback"], json={"success": False, "error": "no such file"})
    assert answer.json() == {"status": "applied", "verdict": "fail"}
    failure = get(http, accepted)["failure"]
    assert (failure["class"], failure["message"]) == ("logical", "no such file")


def retry_now(http: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The first attempt fails, and the second is accepted."""
    http.post(given["callback"], json={"success": False, "failure": {"class": "transient"}})
    http.post(f"/v1/executions/{given['execution_id']}/retry")
    second = lease(http)
    assert (second["attempt"], second["receipt"]) == (2, given["receipt"])
    report(http, second)
    return second


def test_an_old_attempts_failure_is_late(http, accepted) -> None:
    second = retry_now(http, accepted)
    answer = http.post(accepted["callback"], json={"success": False})
    assert (answer.status_code, answer.json()["status"]) == (200, "late")
    assert types(http, accepted)[-1] == "late_result"
    assert http.post(second["callback"], json={"pages": 2}).json()["status"] == "applied"


def test_an_old_attempts_success_is_taken_while_the_item_is_open(http, accepted) -> None:
    second = retry_now(http, accepted)
    assert http.post(accepted["callback"], json={"pages": 1}).json() == {
        "status": "applied",
        "verdict": "complete",
    }
    assert get(http, accepted)["result"] == {"convert": {"pages": 1}}
    assert http.post(second["callback"], json={"pages": 2}).json()["status"] == "late"


def test_a_success_is_taken_while_a_retry_waits(http, accepted) -> None:
    http.post(accepted["callback"], json={"success": False, "failure": {"class": "transient"}})
    assert http.post(accepted["callback"], json={"pages": 1}).json()["verdict"] == "complete"
    assert get(http, accepted)["status"] == "completed"


@pytest.mark.parametrize(
    ("content", "headers", "status", "says"),
    [
        (b"{", {"content-type": "application/json"}, 400, "not JSON"),
        (b'{"status": "faild"}', {"content-type": "application/json"}, 400, "did you mean 'failed'"),
        (b"[]", PROBLEM, 400, "a problem is an object"),
        (b"pages=3", {"content-type": "application/x-www-form-urlencoded"}, 415, "neither application/json"),
        (b"{}", {}, 415, "of no type"),
    ],
)
def test_what_cannot_be_read_changes_nothing(http, accepted, content, headers, status, says) -> None:
    before = types(http, accepted)
    answer = http.post(accepted["callback"], content=content, headers=headers)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert says in answer.json()["title"]
    assert types(http, accepted) == before
    assert http.post(accepted["callback"], json={"pages": 3}).json()["status"] == "applied"


def test_a_wrong_receipt_finds_nothing_and_says_nothing_of_what_there_is(http, accepted) -> None:
    before = types(http, accepted)
    wrong = "0" * len(accepted["receipt"])
    there = http.post(accepted["callback"].replace(accepted["receipt"], wrong), json={"pages": 3})
    not_there = http.post(f"/v1/callbacks/{accepted['execution_id']}/999999/1/{wrong}", json={"pages": 3})
    assert (there.status_code, not_there.status_code) == (404, 404)
    assert there.json() == not_there.json()
    assert types(http, accepted) == before


def test_a_wrong_receipt_is_refused_before_its_body_is_looked_at(http, accepted) -> None:
    url = accepted["callback"].replace(accepted["receipt"], "0" * len(accepted["receipt"]))
    assert http.post(url, content=b"{", headers={"content-type": "application/json"}).status_code == 404


def test_the_receipt_is_all_that_a_callee_needs(server) -> None:
    with server.http(server.token("admin")) as admin, server.http() as stranger:
        given = begin(admin)
        report(admin, given)
        assert stranger.get("/v1/executions").status_code == 401
        assert stranger.post(given["callback"], json={"pages": 3}).json()["status"] == "applied"
        assert get(admin, given)["status"] == "completed"


def test_a_callback_is_limited_in_size(start) -> None:
    with start(max_body=10_000).http() as http:
        given = begin(http)
        report(http, given)
        assert http.post(given["callback"], json={"text": "x" * 20_000}).status_code == 413
        assert get(http, given)["status"] == "running"


def test_a_step_that_is_not_async_cannot_be_called_back(server) -> None:
    """Everyone whom a step calls knows its receipt; only for an async one is it a key."""
    with server.http() as http:
        http.post("/v1/executions", json={"source": ASYNC.replace("    async: {deadline: 1h}\n", "")})
        given = lease(http)
        assert "callback" not in given
        place = "/".join(str(given[name]) for name in ("execution_id", "item_id", "attempt", "receipt"))
        http.post(f"/v1/callbacks/{place}", json={"forged": True})
        assert "action_completed" not in types(http, given)
        assert report(http, given, "succeeded")["status"] == "applied"


def test_each_item_of_a_fan_out_is_called_back_alone(http) -> None:
    http.post("/v1/executions", json={"source": f"{ASYNC}    for_each: [a, b]\n    parallelism: 2\n"})
    first, second = sorted((lease(http), lease(http)), key=lambda given: given["item"])
    assert first["receipt"] != second["receipt"]
    for given in (second, first):
        report(http, given)
        answer = http.post(given["callback"], json={"result_of": given["item"]})
        assert answer.json() == {"status": "applied", "verdict": "complete"}
    assert get(http, first)["result"] == {"convert": [{"result_of": 0}, {"result_of": 1}]}
    assert http.post(second["callback"], json={"success": False}).json()["status"] == "late"
    last = http.get(f"/v1/executions/{first['execution_id']}/events").json()[-1]
    assert (last["type"], last["step"], last["item"]) == ("late_result", "convert", 1)


def test_no_callback_by_the_deadline_is_a_timeout_and_the_callback_then_late(http) -> None:
    source = ASYNC.replace("deadline: 1h", "deadline: 50ms").replace("max_attempts: 3", "max_attempts: 1")
    http.post("/v1/executions", json={"source": source})
    given = lease(http)
    report(http, given)
    eventually(lambda: get(http, given)["status"] == "failed")
    failure = get(http, given)["failure"]
    assert (failure["class"], failure["reason"]) == ("timeout", "callback_deadline")
    assert http.post(given["callback"], json={"pages": 3}).json()["status"] == "late"
    assert get(http, given)["status"] == "failed"


@pytest.mark.parametrize(
    "content", [b'{"\\u0000": 1}', b'["\\u0000"]', b"[1e400]", b"[18446744073709551616]"]
)
def test_what_cannot_be_kept_exactly_is_refused(http, accepted, content: bytes) -> None:
    answer = http.post(accepted["callback"], content=content, headers={"content-type": "application/json"})
    assert answer.status_code == 400, answer.text
    assert get(http, accepted)["status"] == "running", "the callee can still report"


@pytest.mark.parametrize(
    "content",
    [
        b'{"success": false, "error": "\\u0000", "failure": {"message": "\\u0000", "retry_after": 1e9}}',
        b'{"success": false, "usage": {"cost_usd": 1e400, "tokens": 123456789012345678901234567890}}',
        b'{"success": false, "failure": {"class": "transient", "retry_after": 3e9}}',
        b"[" * 190 + b"]" * 190,
    ],
)
def test_whatever_can_be_read_can_be_recorded(http, accepted, content: bytes) -> None:
    answer = http.post(accepted["callback"], content=content, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["status"]) == (200, "applied"), answer.text
    again = http.post(accepted["callback"], content=content, headers={"content-type": "application/json"})
    assert again.status_code == 200
    assert http.get(f"/v1/executions/{accepted['execution_id']}").status_code == 200
    assert http.get(f"/v1/executions/{accepted['execution_id']}/events").status_code == 200
