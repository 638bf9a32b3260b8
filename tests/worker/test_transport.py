"""Tests the HTTP transport against a real server that sends given answers."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from contextlib import nullcontext, suppress

import pytest

from tenax.errors import Forbidden, TooLarge, Unauthorized, Unreachable, UsageError
from tenax.model.attempt.outcome import Facts, Outcome
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


class Freezable:
    """A server that takes every request, and answers while it is not frozen."""

    def __init__(self, **answers):
        self.answers = answers
        self.taken = asyncio.Queue()
        self.thawed = asyncio.Event()
        self.thawed.set()

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_):
        self._server.close()

    async def _answer(self, reader, writer):
        with suppress(asyncio.IncompleteReadError, asyncio.CancelledError):  # the client's end, or the test's
            while True:
                verb = await self._taken_from(reader)
                await self.thawed.wait()
                body = json.dumps(self.answers[verb]).encode()
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
        writer.close()

    async def _taken_from(self, reader):
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(re.search(rb"(?i)content-length: *(\d+)", head)[1]))
        verb = re.search(rb"/v1/worker/(\w+)", head)[1].decode()
        self.taken.put_nowait(verb)
        return verb


def beside_one_that_freezes(second, scene, *, lease=0.8):
    """A scene with a worker's transport that is registered with a server that can freeze, and has another to go to."""

    async def go():
        applied = [{"item_id": [2], "status": "applied", "verdict": "complete"}]
        answers = {"register": {"lease": lease, "heartbeat": lease / 4}, "report": applied}
        async with Freezable(**answers) as first, second if isinstance(second, Freezable) else nullcontext():
            transport = HttpTransport(f"{first.url},{second.url}")
            await transport.register(Registration("w", ("http",)))
            assert await first.taken.get() == "register"
            first.thawed.clear()
            try:
                async with asyncio.timeout(20):
                    await scene(transport, first)
            finally:
                await transport.close()

    asyncio.run(go())


def answered(callee, body):
    callee.answers.append((200, JSON, json.dumps(body).encode()))


def test_every_verb_posts_its_type_and_reads_the_answers(callee):
    granted = {
        "execution_id": [1], "item_id": [2], "attempt": [3], "token": ["g"], "step": "s", "runtime": "http",
        "spec": [{"url": "x"}], "timeout": 5, "receipt": ["r"], "workflow": "w", "max_attempts": None,
        "secrets": [[["headers", "a"], ["Bearer ", {"secret": "K"}]]],
        "item": [0], "callback": ["http://x/v1/callbacks/1/2/3/r"], "compensates": True,
    }  # fmt: skip
    answered(callee, {"lease": 3, "heartbeat": 1})
    answered(callee, [granted])
    answered(callee, [{"item_id": [2], "status": "applied", "verdict": "retry"}])
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
        await transport.report([Report(1, 2, 3, "g", failed)])
        await transport.release([Release(1, 2, 3, "g", "draining")])
        beat = await transport.heartbeat(Heartbeat("w", (Held(2, "g"),)))
        assert beat.revoked == (Held(2, "g"),)

    ask(callee.url, call)
    assert [path for _, path, _, _ in callee.requests] == [
        f"/v1/worker/{verb}" for verb in ("register", "lease", "report", "release", "heartbeat")
    ]
    sent = json.loads(callee.requests[2][3])
    assert sent[0]["outcome"][0]["facts"]["status_code"] == 503
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
    """The worker itself asks the next server, because it must name as lost what the first one may have granted."""
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
    answered(second, [{"item_id": [2], "status": "applied", "verdict": "complete"}])

    async def call(transport):
        await transport.register(Registration("w", ("http",)))
        callee.close()
        await transport.report([Report(1, 2, 3, "g", Outcome("succeeded"))])

    ask(f"{callee.url},{second.url}", call)


def test_a_server_that_hangs_does_not_cost_the_worker_its_leases(second):
    answered(second, {"revoked": []})

    async def scene(transport, _):
        async with asyncio.timeout(0.8):  # the lease
            await transport.heartbeat(Heartbeat("w"))

    beside_one_that_freezes(second, scene)


def test_a_parked_lease_request_leaves_with_the_heartbeats(second):
    answered(second, {"revoked": []})
    answered(second, [])

    async def scene(transport, first):
        parked = asyncio.create_task(transport.lease(LeaseRequest("w", "g1", 1, ("http",), wait=60.0)))
        assert await first.taken.get() == "lease"
        await transport.heartbeat(Heartbeat("w"))
        with pytest.raises(Unreachable, match=f"gave up waiting for the server at {first.url}"):
            await parked
        assert await transport.lease(LeaseRequest("w", "g2", 1, ("http",), lost_grants=("g1",))) == []

    beside_one_that_freezes(second, scene)
    assert [path for _, path, _, _ in second.requests] == ["/v1/worker/heartbeat", "/v1/worker/lease"]
    assert json.loads(second.requests[1][3])["lost_grants"] == ["g1"]


def test_a_report_leaves_with_the_heartbeats_and_goes_on_to_the_next():
    applied = [{"item_id": [2], "status": "applied", "verdict": "complete"}]
    second = Freezable(heartbeat={"revoked": []}, report=applied)  # in whichever order they come

    async def scene(transport, first):
        reporting = asyncio.create_task(transport.report([Report(1, 2, 3, "g", Outcome("succeeded"))]))
        assert await first.taken.get() == "report"
        await transport.heartbeat(Heartbeat("w"))
        async with asyncio.timeout(5):  # half of what a report gets by itself
            await reporting

    beside_one_that_freezes(second, scene)


def test_a_report_may_take_longer_than_a_heartbeat(second):
    """Heartbeats keep its lease meanwhile; a large one that was given up at each server would never get through."""

    async def scene(transport, first):
        reporting = asyncio.create_task(transport.report([Report(1, 2, 3, "g", Outcome("succeeded"))]))
        assert await first.taken.get() == "report"
        assert not (await asyncio.wait({reporting}, timeout=0.1))[0]
        first.thawed.set()
        await reporting

    beside_one_that_freezes(second, scene, lease=0.2)
    assert second.requests == []


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Outcome("succeeded"), {"outcome": [{"status": "succeeded"}]}),
        (
            Outcome("succeeded", result={"a": None}),
            {"outcome": [{"status": "succeeded"}], "result": [{"a": None}]},
        ),
        (Outcome("succeeded", result=False), {"outcome": [{"status": "succeeded"}], "result": [False]}),
        (Outcome("snoozed", after=0.0), {"outcome": [{"status": "snoozed", "after": 0.0}]}),
        (
            Outcome("failed", facts=Facts(exit_code=0)),
            {"outcome": [{"status": "failed", "facts": {"exit_code": 0}}]},
        ),
    ],
)
def test_a_report_says_only_what_there_is_to_say(callee, outcome, said):
    answered(callee, [{"item_id": [2], "status": "applied", "verdict": "complete"}])
    ask(callee.url, lambda transport: transport.report([Report(1, 2, 3, "g", outcome, item=0)]))
    place = {"execution_id": [1], "item_id": [2], "attempt": [3], "token": ["g"], "item": [0]}
    assert json.loads(callee.requests[0][3]) == [place | said]


def test_an_answer_with_lists_of_different_lengths_never_came(callee):
    granted = {
        "execution_id": [1], "item_id": [2, 3], "attempt": [3], "token": ["g", "h"], "step": "s", "runtime": "http",
        "spec": [{}], "timeout": 5, "receipt": ["r"], "workflow": "w", "max_attempts": None,
    }  # fmt: skip
    answered(callee, [granted])
    with pytest.raises(Unreachable, match="cannot be read: execution_id has 1 entries"):
        ask(callee.url, lambda t: t.lease(LeaseRequest("w", "g", 1, ("http",))))


@pytest.mark.parametrize(
    "odd", [{"result": "\ud800"}, {"facts": Facts(message="\ud800")}, {"result": object()}]
)
def test_what_has_no_json_form_is_refused_before_it_is_sent(callee, odd):
    """Not as a link that is down: to send it again would be of no use."""
    report = Report(1, 2, 3, "g", Outcome("failed", **odd))
    with pytest.raises(UsageError, match="the request has no JSON form"):
        ask(callee.url, lambda transport: transport.report([report]))
    assert callee.requests == []


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
