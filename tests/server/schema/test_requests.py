"""Tests requests of strangers that are wrong, too large, too long or incomplete: always a problem, never a traceback."""

from __future__ import annotations

import socket
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from support.worker_requests import one_by_one, report_on

SOURCE = "name: x\nworkflow: [{step: a, type: python, task: t}]\n"
GRANT = str(uuid4())
LEASE = {"worker": "w", "grant": GRANT, "slots": 1, "runtimes": ["python"], "wait": 0.01}
REPORT = {
    "execution_id": [1], "item_id": [1], "attempt": [1], "token": [GRANT], "outcome": [{"status": "succeeded"}]
}  # fmt: skip
TOO_MANY = {name: value if name == "outcome" else value * 1001 for name, value in REPORT.items()}
RELEASE = {"execution_id": 1, "item_id": 1, "attempt": 1, "token": GRANT, "reason": "draining"}
HUGE = 2**63


def problem_of(answer: Any) -> dict[str, Any]:
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == answer.status_code
    assert body["type"].startswith("tenax:")
    assert "Traceback" not in answer.text
    return body


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        (
            "/v1/executions",
            {"source": SOURCE, "inputs": {}},
            "inputs: there is no such field; did you mean `input`?",
        ),
        ("/v1/executions", {"source": 1}, "source"),
        ("/v1/executions", {"workflow": "a\0b"}, "workflow"),
        ("/v1/executions", {"source": SOURCE, "key": "k" * 201}, "key"),
        ("/v1/executions", [], "the body cannot be accepted"),
        ("/v1/executions/batch", {"submissions": [{"source": SOURCE}, {"key": 1}]}, "submissions[1].key"),
        ("/v1/executions/batch", {"submissions": [{}] * 1001}, "at most 1000"),
        ("/v1/executions", {"source": SOURCE, "files": {"": "x"}}, "files"),
        ("/v1/executions", {"source": SOURCE, "files": {"a.yaml": 5}}, "files.a.yaml"),
        (
            "/v1/executions",
            {"source": SOURCE, "files": {f"{n}.yaml": 5 if n == 617 else "" for n in range(1000)}},
            "files.617.yaml",
        ),
        (
            "/v1/executions",
            {"source": SOURCE, "files": {f"{n}.yaml": "" for n in range(1001)}},
            "at most 1000",
        ),
        ("/v1/executions/1/retry", {"new": "yes"}, "new"),
        ("/v1/executions/1/pause", {"reson": "x"}, "reson"),
        ("/v1/executions/1/resume", {"reason": 5}, "reason"),
        ("/v1/executions/1/signals", {}, "name"),
        ("/v1/executions/1/signals", {"name": ""}, "name"),
        ("/v1/executions/1/signals", {"name": "go", "key": "k" * 201}, "key"),
        ("/v1/executions/1/signals", {"name": "go", "payload": 1}, "payload: there is no such field"),
        ("/v1/executions/1/steps/a/approve", {"item": -1}, "item"),
        ("/v1/executions/1/steps/a/reject", {"item": 2**31}, "item"),
        ("/v1/workflows", {}, "source"),
        ("/v1/workflows", {"source": SOURCE, "name": "x"}, "name: there is no such field"),
        ("/v1/worker/register", {"worker": "", "runtimes": []}, "worker"),
        ("/v1/worker/lease", LEASE | {"grant": "mine"}, "grant: not a UUID"),
        ("/v1/worker/lease", LEASE | {"slots": 0}, "slots"),
        ("/v1/worker/lease", LEASE | {"slots": 1001}, "slots"),
        ("/v1/worker/lease", LEASE | {"slots": "1"}, "slots"),
        ("/v1/worker/lease", LEASE | {"wait": 61}, "wait"),
        ("/v1/worker/lease", LEASE | {"wait": -1}, "wait"),
        ("/v1/worker/lease", LEASE | {"execution_id": HUGE}, "execution_id"),
        ("/v1/worker/lease", LEASE | {"labels": {"a": "\0"}}, "labels.a"),
        ("/v1/worker/lease", LEASE | {"lost_grants": ["x"]}, "lost_grants[0]"),
        ("/v1/worker/report", [REPORT | {"token": ["x"]}], "[0].token[0]: not a UUID"),
        ("/v1/worker/report", [REPORT, REPORT | {"item_id": [HUGE]}], "[1].item_id[0]"),
        ("/v1/worker/report", [REPORT | {"item_id": 1}], "[0].item_id"),
        ("/v1/worker/report", [REPORT | {"item": [-1]}], "[0].item[0]"),
        (
            "/v1/worker/report",
            [{name: values * 2 for name, values in REPORT.items()} | {"outcome": [{"status": "failed"}]}],
            "[0]: a single `outcome` for several attempts can only be a success",
        ),
        (
            "/v1/worker/report",
            [REPORT | {"item_id": [1, 2]}],
            "[0]: item_id has 2 entries, and token has 1",
        ),
        ("/v1/worker/report", [REPORT | {"result": []}], "[0]: result has 0 entries"),
        ("/v1/worker/report", [REPORT | {"outcome": []}], "[0]: outcome has 0 entries"),
        ("/v1/worker/report", [REPORT | {"outcome": [{"status": "great"}]}], "[0].outcome[0].status"),
        ("/v1/worker/report", [REPORT] * 1001, "at most 1000"),
        ("/v1/worker/report", [TOO_MANY], "at most 1000"),
        ("/v1/worker/release", [RELEASE | {"reason": "tired"}], "[0].reason"),
        (
            "/v1/worker/heartbeat",
            {"worker": "w", "holding": [{"item_id": 0, "token": GRANT}]},
            "holding[0].item_id",
        ),
        ("/v1/tokens", {"name": "n", "role": "king"}, "role"),
    ],
)
def test_a_body_that_is_not_right_is_refused_with_its_place(
    standing, path: str, body: Any, says: str
) -> None:
    with standing.http() as http:
        answer = http.post(path, json=body)
    assert answer.status_code == 422, answer.text
    problem = problem_of(answer)
    assert says in problem["title"]
    assert problem["errors"]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff\xfe", b'{"input": ' + b"[" * 100_000, b'{"key": "\\ud800"}', b"nul"]
)
@pytest.mark.parametrize("path", ["/v1/executions", "/v1/worker/lease"])
def test_bad_json_is_refused(standing, path: str, body: bytes) -> None:
    with standing.http() as http:
        answer = http.post(path, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    problem_of(answer)


def test_a_body_that_is_not_called_json_is_refused(standing) -> None:
    with standing.http() as http:
        answer = http.post("/v1/executions", content=b"{}", headers={"content-type": "text/plain"})
        assert answer.status_code == 415
        assert "text/plain" in problem_of(answer)["title"]
        fine = http.post(
            "/v1/executions/batch",
            content=b'{"submissions":[]}',
            headers={"content-type": "Application/JSON; charset=utf-8"},
        )
        assert fine.json() == []


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/executions/1", 404),
        ("GET", "/v1/executions/1/events", 404),
        ("GET", "/v1/executions/1/news?wait=1", 404),
        ("GET", "/v1/executions/1/explain", 404),
        ("GET", "/v1/executions/1/diagnosis", 404),
        ("GET", "/v1/executions/1/diagnosis?step=a&item=-1", 422),
        ("GET", "/v1/workers/nobody/diagnosis", 404),
        ("GET", "/v1/queues/nowhere/diagnosis", 404),
        ("POST", "/v1/executions/1/cancel", 404),
        ("POST", "/v1/executions/1/retry", 404),
        ("POST", "/v1/tokens/1/revoke", 404),
        ("GET", f"/v1/executions/{HUGE - 1}", 404),
        ("GET", f"/v1/executions/{HUGE}", 422),
        ("GET", f"/v1/executions/{'9' * 5000}", 422),
        ("GET", "/v1/executions/0", 422),
        ("GET", "/v1/executions/-1", 422),
        ("GET", "/v1/executions/abc", 422),
        ("GET", "/v1/executions/1/news?wait=31", 422),
        ("GET", "/v1/executions/1/news?cursor=x", 422),
        ("GET", "/v1/executions/1/news?wait=nan", 422),
        ("GET", f"/v1/executions/1/events?after={HUGE}", 422),
        ("GET", "/v1/executions?limit=0", 422),
        ("GET", "/v1/executions?limit=501", 422),
        ("GET", "/v1/executions?workflow=%00", 422),
        ("GET", "/v1/executions?since=0001-01-01T00:00:00%2B23:00", 400),
        ("GET", "/v1/executions?status=no", 400),
        ("GET", "/v1/executions?state=failed", 400),
        ("POST", "/v1/executions/1/cancel?force=1", 400),
        ("POST", "/v1/executions/1/pause", 404),
        ("POST", "/v1/executions/1/resume", 404),
        ("GET", "/v1/executions/1/tree", 404),
        ("GET", "/v1/executions/1/steps/a/items", 404),
        ("GET", "/v1/executions/1/steps/a/items?status=failing", 400),
        ("GET", "/v1/executions/1/steps/a/items?state=failed", 400),
        ("GET", "/v1/executions/1/steps/a/items?after=-2", 422),
        ("GET", "/v1/executions/1/steps/a/items?limit=1001", 422),
        ("GET", f"/v1/executions/1/steps/{'a' * 201}/items", 422),
        ("POST", "/v1/executions/1/steps/a/approve", 404),
        ("POST", "/v1/executions/1/steps/a/reject", 404),
        ("GET", "/v1/workflows?named=x", 400),
        ("POST", "/v1/callbacks/1/1/1/abc", 404),
        ("POST", "/v1/callbacks/1/1/1/abc?step=a&item=0", 404),
        ("POST", "/v1/callbacks/1/1/1/abc?stop=a", 400),
        ("POST", "/v1/callbacks/1/1/0/abc", 422),
        ("POST", f"/v1/callbacks/1/{HUGE}/1/abc", 422),
        ("POST", "/v1/callbacks/1/1/1/%C3%A9", 422),
        ("GET", "/v1/callbacks/1/1/1/abc", 405),
        ("POST", "/v1/callbacks/1/1/1", 404),
        ("GET", "/v1/executions/", 404),
        ("GET", "/nowhere", 404),
        ("GET", "/docs/nothing.js", 404),
        ("GET", "/docs/..%2Fapp.py", 404),
        ("DELETE", "/v1/executions", 405),
        ("GET", "/v1/worker/lease", 405),
    ],
)
def test_a_request_for_what_is_not_there_is_a_problem(standing, method: str, path: str, status: int) -> None:
    with standing.http() as http:
        answer = http.request(method, path)
    assert answer.status_code == status, answer.text
    assert problem_of(answer)["title"]


def test_an_unknown_execution_says_what_to_do(standing) -> None:
    with standing.http() as http:
        problem = problem_of(http.get("/v1/executions/77"))
    assert problem["title"] == "there is no execution 77"
    assert "tenax list" in problem["remedy"]


@pytest.mark.parametrize(
    "outcome",
    [
        {"status": "snoozed", "after": 1e300},
        {"status": "failed", "after": -5.0, "facts": {"retry_after": 1e300, "message": "\0"}},
        {
            "status": "failed",
            "usage": {"tokens": 10**30, "cost_usd": 1e300},
            "facts": {"status_code": 10**30},
        },
        {"status": "succeeded", "result": {"\0": [10**40, 1e308]}},
    ],
)
def test_a_report_is_not_lost_for_its_details(server, outcome: dict[str, Any]) -> None:
    with server.http() as http:
        http.post("/v1/executions", json={"source": SOURCE})
        [given] = one_by_one(http.post("/v1/worker/lease", json=LEASE | {"wait": 20}).json())
        [answer] = http.post("/v1/worker/report", json=[report_on(given, outcome)]).json()
        assert answer["status"] == "applied"


def test_a_lease_token_counts_in_any_spelling(server) -> None:
    with server.http() as http:
        http.post("/v1/executions", json={"source": SOURCE})
        body = LEASE | {"grant": GRANT.upper(), "wait": 20}
        [given] = one_by_one(http.post("/v1/worker/lease", json=body).json())
        spelled = given | {"token": "{" + given["token"].upper() + "}"}
        report = report_on(spelled, {"status": "succeeded"})
        for _ in range(2):
            [answer] = http.post("/v1/worker/report", json=[report]).json()
            assert answer == {"item_id": [given["item_id"]], "status": "applied", "verdict": "complete"}


def test_an_assignment_names_only_what_its_step_uses(server) -> None:
    always = {
        "execution_id", "item_id", "attempt", "token", "step", "runtime", "spec", "timeout", "receipt",
        "workflow", "max_attempts",
    }  # fmt: skip
    fan_out = "{step: a, type: python, task: t, for_each: [7], args: {x: null}}"
    with server.http() as http:
        http.post("/v1/executions", json={"source": SOURCE})
        [plain] = http.post("/v1/worker/lease", json=LEASE | {"wait": 20}).json()
        assert plain.keys() == always
        http.post("/v1/executions", json={"source": f"name: x\nworkflow: [{fan_out}]\n"})
        [first] = http.post("/v1/worker/lease", json=LEASE | {"grant": str(uuid4()), "wait": 20}).json()
        assert first.keys() == always | {"item"}
        assert (first["item"], first["spec"][0]["args"]) == ([0], {"x": None}), (
            "it says them though they say little"
        )


def test_a_lease_that_waits_for_nothing_is_answered(standing) -> None:
    with standing.http() as http:
        assert http.post("/v1/worker/lease", json=LEASE | {"wait": 0}).json() == []


def test_bodies_are_limited_in_size(start) -> None:
    server = start(max_body=10_000)
    big = b'{"source": "' + b"x" * 20_000 + b'"}'

    def chunks() -> Any:
        for at in range(0, len(big), 1000):
            yield big[at : at + 1000]

    with server.http() as http:
        for content in (big, chunks()):
            answer = http.post(
                "/v1/executions", content=content, headers={"content-type": "application/json"}
            )
            assert answer.status_code == 413
            assert "at most 10,000 bytes in one request (max_body)" in problem_of(answer)["title"]
        assert http.get("/v1/executions").json() == []


def test_a_body_that_never_ends_is_cut_off(start) -> None:
    server = start(max_body=10_000)
    where = urlsplit(server.url)
    with socket.create_connection((where.hostname, where.port), timeout=20) as connection:
        connection.sendall(
            b"POST /v1/executions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            b"transfer-encoding: chunked\r\n\r\n"
        )
        for _ in range(11):
            connection.sendall(b"3e8\r\n" + b"x" * 1000 + b"\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 413")


def test_answers_carry_the_headers_that_keep_browsers_safe(standing) -> None:
    with standing.http() as http:
        for path in ("/healthz", "/nowhere", "/v1/version"):
            headers = http.get(path).headers
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cache-control"] == "no-store"
            assert "access-control-allow-origin" not in headers
            assert "server" not in headers


def test_beyond_the_last_event_there_are_none(server) -> None:
    source = "name: x\nworkflow: [{step: a, type: python, task: t}]\n"
    with server.http() as http:
        id_ = http.post("/v1/executions", json={"source": source}).json()["id"]
        answer = http.get(f"/v1/executions/{id_}/events", params={"after": 1000})
    assert (answer.status_code, answer.json()) == (200, [])
