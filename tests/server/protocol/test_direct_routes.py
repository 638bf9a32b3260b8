"""Tests that direct routes give the answers of the framework's routes, in one piece."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from tenax.server.app import API, HOT
from tenax.server.protocol.single_write import SingleWriteTransport

SOURCE = "name: x\nworkflow: [{step: a, type: python, task: t}]\n"
TOKEN = str(uuid4())
LEASE = {"worker": "w", "grant": TOKEN, "slots": 1, "runtimes": ["python"], "wait": 0.01}
REPORT = {
    "execution_id": [1], "item_id": [1], "attempt": [1], "token": [TOKEN], "outcome": [{"status": "succeeded"}]
}  # fmt: skip


def test_it_leads_where_the_routes_lead() -> None:
    routes = [route for module in API for route in module.router.routes]
    found = {route.path: route.endpoint for route in routes if "POST" in route.methods and route.path in HOT}
    assert found == HOT


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/worker/lease", LEASE, 200),
        ("/v1/worker/lease", LEASE | {"slots": 0}, 422),
        ("/v1/worker/report", [REPORT], 200),
        ("/v1/worker/report", [REPORT | {"token": [TOKEN.upper()]}], 200),
        ("/v1/worker/report", [REPORT | {"token": [5]}], 422),
        ("/v1/worker/heartbeat", {"worker": "w"}, 200),
        ("/v1/worker/heartbeat", {}, 422),
    ],
)
def test_both_ways_answer_the_same(server, path: str, body: Any, status: int) -> None:
    """A query that nobody asked for leads the long way."""
    with server.http() as http:
        short, long = [http.post(f"{path}{query}", json=body) for query in ("", "?x=1")]
    assert short.status_code == long.status_code == status
    assert short.json() == long.json()
    assert _lasting(short.headers) == _lasting(long.headers)


@pytest.mark.parametrize("path", sorted(HOT))
def test_both_ways_refuse_the_same(server, path: str) -> None:
    with server.http() as http:
        no_json = http.post(path, content=b"{}")
        no_method = http.delete(path)
        no_body = http.post(path, headers={"content-type": "application/json"})
    assert (no_json.status_code, no_method.status_code, no_body.status_code) == (415, 405, 422)


def test_a_parameter_that_a_route_does_not_know_is_refused_there_too(server) -> None:
    with server.http() as http:
        answer = http.post("/v1/executions/batch?x=1", json={"submissions": [{"source": SOURCE}]})
    assert answer.status_code == 400
    assert "x" in answer.json()["title"]


class Wire:
    """A transport that keeps what is written to it, write by write."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        self.writes.append(data)

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ([HEAD, b"body"], [HEAD + b"body"]),
        ([HEAD, b""], [HEAD]),
        ([HEAD, b"1", b"2"], [HEAD + b"1", b"2"]),
        ([HEAD, b"1", HEAD, b"2"], [HEAD + b"1", HEAD + b"2"]),
        ([HEAD], [HEAD]),
        ([HEAD, b"1", HEAD], [HEAD + b"1", HEAD]),
    ],
    ids=[
        "head and body",
        "an empty body",
        "a stream",
        "two answers",
        "a head by itself",
        "the next one's head",
    ],
)
@pytest.mark.parametrize("ends", ["the loop's turn", "a close"])
def test_a_head_leaves_with_its_body(written: list[bytes], sent: list[bytes], ends: str) -> None:
    async def go() -> Wire:
        wire = Wire()
        joined = SingleWriteTransport(wire)  # type: ignore[arg-type]
        for data in written:
            joined.write(data)
        if ends == "a close":
            joined.close()
            assert joined.is_closing()
        else:
            await asyncio.sleep(0)
        return wire

    assert asyncio.run(go()).writes == sent


def _lasting(headers: Any) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name != "date"}
