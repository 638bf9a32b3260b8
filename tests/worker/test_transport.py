"""The HTTP transport against a real server that speaks the wire's words."""

from __future__ import annotations

import asyncio
import json
import socket

import pytest

from tenax.errors import Forbidden, TooLarge, Unauthorized, Unreachable, UsageError
from tenax.model.outcome import Facts, Outcome
from tenax.model.wire import Heartbeat, Held, LeaseRequest, Registration, Release, Report
from tenax.worker.transport import HttpTransport

JSON = {"content-type": "application/json"}


def ask(url, call, token="t0ken"):
    async def go():
        transport = HttpTransport(url, token)
        try:
            return await call(transport)
        finally:
            await transport.close()

    return asyncio.run(go())


def answered(callee, body):
    callee.answers.append((200, JSON, json.dumps(body).encode()))


def test_every_verb_posts_its_type_and_reads_the_answers(callee):
    granted = {
        "execution_id": 1, "item_id": 2, "attempt": 3, "token": "g", "step": "s", "runtime": "http", "spec": {"url": "x"},
        "timeout": 5, "receipt": "r", "workflow": "w", "max_attempts": None,
        "secrets": [[["headers", "a"], ["Bearer ", {"secret": "K"}]]],
        "item": 0, "callback": "http://x/v1/callbacks/1/2/3/r", "compensates": True,
    }  # fmt: skip
    answered(callee, {"lease": 3, "heartbeat": 1})
    answered(callee, [granted])
    answered(callee, [{"item_id": 2, "status": "applied", "verdict": "retry"}])
    answered(callee, None)
    answered(callee, {"revoked": [{"item_id": 2, "token": "g"}]})
    failed = Outcome("failed", facts=Facts(message="no", status_code=503, exception_bases=("a", "b")))

    async def call(transport):
        terms = await transport.register(Registration("w", ("http",), labels={"a": "b"}, slots=2))
        assert (terms.lease, terms.heartbeat) == (3, 1)
        [assignment] = await transport.lease(
            LeaseRequest("w", "g", 2, ("http",), wait=1.0, lost_grants=("x",))
        )
        assert (assignment.item_id, assignment.spec) == (2, {"url": "x"})
        assert assignment.secrets == ((("headers", "a"), ("Bearer ", {"secret": "K"})),)
        assert (assignment.item, assignment.compensates) == (0, True)
        assert assignment.callback == "http://x/v1/callbacks/1/2/3/r"
        [answer] = await transport.report([Report(1, 2, 3, "g", failed)])
        assert (answer.status, answer.verdict) == ("applied", "retry")
        await transport.release([Release(1, 2, 3, "g", "draining")])
        beat = await transport.heartbeat(Heartbeat("w", (Held(2, "g"),)))
        assert beat.revoked == (Held(2, "g"),)

    ask(callee.url, call)
    assert [path for _, path, _, _ in callee.requests] == [
        f"/v1/worker/{verb}" for verb in ("register", "lease", "report", "release", "heartbeat")
    ]
    sent = json.loads(callee.requests[2][3])
    assert sent[0]["outcome"]["facts"]["status_code"] == 503
    assert all(
        {k.lower(): v for k, v in h.items()}["authorization"] == "Bearer t0ken"
        for _, _, h, _ in callee.requests
    )


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (
            401,
            {"type": "tenax:unauthorized", "title": "the token is unknown", "remedy": "make one"},
            Unauthorized,
        ),
        (403, {"type": "tenax:forbidden", "title": "no"}, Forbidden),
        (413, {"type": "tenax:too_large", "title": "no"}, TooLarge),
        (401, "proxy says no", Unauthorized),
        (502, "bad gateway", Unreachable),
        (503, {"type": "tenax:unreachable", "title": "the database is gone"}, Unreachable),
        (200, ["not an answer"], Unreachable),
    ],
)
def test_errors_come_back_as_what_they_were(callee, status, body, error):
    callee.answers = [(status, JSON, json.dumps(body).encode())]
    with pytest.raises(error) as raised:
        ask(callee.url, lambda transport: transport.heartbeat(Heartbeat("w")))
    if isinstance(body, dict) and "title" in body:
        assert raised.value.message == body["title"]
        assert raised.value.remedy == body.get("remedy")


def closed_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def test_nobody_there():
    url = closed_port()
    with pytest.raises(Unreachable, match=f"cannot reach the server at {url}: connection refused"):
        ask(url, lambda transport: transport.register(Registration("w", ())))


def test_of_several_servers_it_speaks_to_one_that_works(callee, second):
    stopping = {"type": "tenax:unreachable", "title": "the server is stopping"}
    callee.answers = [(503, JSON, json.dumps(stopping).encode())]
    for _ in range(3):
        answered(second, {"revoked": []})

    async def call(transport):
        for _ in range(3):
            await transport.heartbeat(Heartbeat("w"))

    ask(f"{callee.url},{second.url}", call)
    assert (len(callee.requests), len(second.requests)) == (1, 3), "it stays with the one that works"


def test_a_lease_in_doubt_is_not_asked_for_again_by_itself(callee, second):
    """What the first server may have granted must be named as lost, so the worker itself asks the next one."""
    callee.answers = [(503, JSON, b"{}")]
    answered(second, [])

    async def call(transport):
        with pytest.raises(Unreachable, match="503"):
            await transport.lease(LeaseRequest("w", "g1", 1, ("http",)))
        assert second.requests == []
        assert await transport.lease(LeaseRequest("w", "g2", 1, ("http",), lost_grants=("g1",))) == []

    ask(f"{callee.url}, {second.url}/", call)


def test_a_lease_that_nobody_heard_is_asked_for_elsewhere_at_once(second):
    answered(second, [])
    nobody = closed_port()
    assert ask(f"{nobody},{second.url}", lambda t: t.lease(LeaseRequest("w", "g", 1, ("http",)))) == []


def test_a_worker_keeps_its_leases_through_the_death_of_a_server(callee, second):
    answered(callee, {"lease": 3, "heartbeat": 1})
    answered(second, [{"item_id": 2, "status": "applied", "verdict": "complete"}])

    async def call(transport):
        await transport.register(Registration("w", ("http",)))
        callee.close()
        [answer] = await transport.report([Report(1, 2, 3, "g", Outcome("succeeded"))])
        assert answer.status == "applied"

    ask(f"{callee.url},{second.url}", call)


def test_a_url_that_is_none():
    with pytest.raises(UsageError):
        ask("localhost", lambda transport: transport.register(Registration("w", ())))


def test_proxies_of_the_environment_are_not_for_the_workers_own_server(callee, monkeypatch):
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    answered(callee, {"lease": 3, "heartbeat": 1})
    terms = ask(callee.url, lambda transport: transport.register(Registration("w", ("http",))))
    assert terms.lease == 3
