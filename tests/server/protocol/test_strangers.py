"""Tests connections before authentication: they cost the server little, and do not affect others."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.responses import Response
from structlog.testing import capture_logs
from support.waiting import eventually

from tenax.server.middleware import SMALL_BODY, EntryMiddleware
from tenax.server.protocol.bounded import MAX_PIPELINED
from tenax.web.auth import Principal

HEAD = b"POST /v1/executions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
GET = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n"
HALF = b"GET /healthz HTTP/1.1\r\nhost: loc"


@contextmanager
def connected(server: Any) -> Iterator[socket.socket]:
    where = urlsplit(server.url)
    with socket.create_connection((where.hostname, where.port), timeout=20) as connection:
        yield connection


def read_all(connection: socket.socket) -> bytes:
    """Reads until the server closes the connection."""
    found = bytearray()
    while piece := connection.recv(65536):
        found += piece
    return bytes(found)


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def answer_to(server: Any, *pieces: bytes) -> bytes:
    with connected(server) as connection:
        for piece in pieces:
            connection.sendall(piece)
        return read_all(connection)


# -- sizes


@pytest.mark.parametrize(
    "pieces",
    [
        [GET + b"x: " + b"a" * 20_000 + b"\r\n\r\n"],
        [GET + b"x: ", b"a" * 20_000],
        [GET, *[b"x%d: y\r\n" % n for n in range(2_000)]],
        [b"GET /" + b"a" * 20_000],
        [b"\r\n" * 10_000],
        [HEAD + b"transfer-encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n", b"trailer: " + b"a" * 2_000_000],
        [HEAD + b"transfer-encoding: chunked\r\n\r\n1;x=", b"a" * 2_000_000],
    ],
    ids=["whole", "one-value", "many", "url", "nothing", "trailer", "chunk-extension"],
)
def test_a_head_that_is_too_large_is_refused(start, pieces: list[bytes]) -> None:
    server = start(max_head=10_000)
    with connected(server) as connection:
        try:
            for piece in pieces:
                connection.sendall(piece)
            answer = connection.recv(65536)
        except ConnectionError:
            answer = b""  # closed while it was still sending
    assert answer == b"" or (status_of(answer) == 431 and b"at most 10,000 bytes" in answer)
    with server.http() as http:
        assert http.get("/healthz").status_code == 200


def test_the_refusal_of_a_head_is_a_problem(start) -> None:
    answer = answer_to(start(max_head=1_000), GET + b"x: " + b"a" * 1_000 + b"\r\n\r\n")
    assert status_of(answer) == 431
    assert b"application/problem+json" in answer
    assert b"TENAX_MAX_HEAD" in answer


def test_a_large_body_is_no_large_head(start) -> None:
    server = start(max_head=1_000)
    with server.http() as http:
        source = "name: x\nworkflow: [{step: a, type: python, task: t}]\n" + "# padding\n" * 5_000
        assert http.post("/v1/executions", json={"source": source}).status_code == 201


def test_trailers_are_not_headers_of_the_request(start) -> None:
    server = start()
    secret = server.token("admin")
    late = b"0\r\nauthorization: Bearer " + secret.encode() + b"\r\nconnection: close\r\n\r\n"
    answer = answer_to(
        server, HEAD + b"connection: close\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n" + late
    )
    assert status_of(answer) == 401


def test_a_body_that_goes_on_after_its_refusal_is_cut_off(start) -> None:
    server = start(max_body=10_000, head_timeout=60.0)
    with connected(server) as connection:
        connection.sendall(HEAD + b"content-length: 1000000000\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 413")
        with pytest.raises(ConnectionError):
            connection.sendall(b"x" * 100_000_000)


# -- times


@pytest.mark.parametrize("half", [HALF, b"G", b"\r\n", GET + b"connection: keep-alive\r\n"])
def test_a_head_that_is_not_finished_in_time_is_refused(start, half: bytes) -> None:
    server = start(head_timeout=0.2)
    with capture_logs() as logs:
        answer = answer_to(server, half)
    assert status_of(answer) == 408
    assert b"the head of the request was not complete after 0.2 s (head_timeout)" in answer
    assert [line["event"] for line in logs].count("a request was refused") == 1


def test_a_second_request_has_its_time_too(start) -> None:
    server = start(head_timeout=0.2)
    with connected(server) as connection:
        connection.sendall(GET + b"\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        connection.sendall(HALF)
        assert status_of(read_all(connection)) == 408


def test_a_connection_that_says_nothing_is_closed(start) -> None:
    assert answer_to(start(head_timeout=0.2)) == b""


@pytest.mark.parametrize(
    "half", [b"content-length: 100\r\n\r\n{", b"transfer-encoding: chunked\r\n\r\n1\r\n{\r\n"]
)
def test_a_body_that_is_not_finished_in_time_is_refused(start, half: bytes) -> None:
    answer = answer_to(start(body_timeout=0.2), HEAD + half)
    assert status_of(answer) == 408
    assert answer.count(b"HTTP/1.1") == 1
    assert b"the body of the request was not complete after 0.2 s (body_timeout)" in answer


def test_a_body_that_nobody_needs_has_the_time_of_a_head(start) -> None:
    server = start(head_timeout=0.2)
    server.token("admin")
    answer = answer_to(server, HEAD + b"content-length: 100\r\n\r\n{")
    assert status_of(answer) == 401
    assert answer.count(b"tenax-version") == 1, "one answer to one request"


def test_a_request_that_waits_in_the_server_is_not_slow(start) -> None:
    server = start(head_timeout=0.2, body_timeout=0.2)
    body = {"worker": "w", "grant": "0" * 32, "slots": 1, "runtimes": ["python"], "wait": 1.0}
    with server.http() as http:
        assert http.post("/v1/worker/lease", json=body).json() == []


def test_an_answer_that_nobody_reads_is_dropped(start) -> None:
    server = start(body_timeout=0.2, head_timeout=60.0)
    wanted = b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n" * MAX_PIPELINED
    with connected(server) as connection, capture_logs() as logs:
        connection.sendall(wanted)
        eventually(lambda: "an answer that is not read was dropped" in [line["event"] for line in logs])
    with server.http() as http:
        assert http.get("/healthz").status_code == 200


def test_requests_on_one_connection_wait_for_their_answers_in_a_bounded_number(start) -> None:
    server = start()
    with connected(server) as connection:
        connection.sendall((GET + b"\r\n") * MAX_PIPELINED + GET + b"connection: close\r\n\r\n")
        assert read_all(connection).count(b"HTTP/1.1 200") == MAX_PIPELINED + 1
    with capture_logs() as logs:
        assert answer_to(server, (GET + b"\r\n") * 2 * MAX_PIPELINED) == b""
    assert "more than 100 requests on one connection" in logs[0]["error"]


def test_a_server_reads_no_further_requests_while_earlier_ones_wait(start) -> None:
    """uvicorn goes on to read after each answer, however many requests wait."""
    server = start(head_timeout=60.0)
    wanted = b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n" * 50
    with connected(server) as connection:
        connection.settimeout(1.0)
        with pytest.raises((TimeoutError, ConnectionError)):
            connection.sendall(wanted * 100_000)


# -- numbers


def test_half_sent_heads_do_not_shut_others_out(start) -> None:
    server = start(max_connections_per_address=40, head_timeout=60.0)
    with ExitStack() as held, capture_logs() as logs:
        for _ in range(120):
            held.enter_context(connected(server)).sendall(HALF)
        for _ in range(60):
            with server.http() as http:
                assert http.get("/healthz").status_code == 200
    told = [line for line in logs if line["event"] == "unfinished requests make room for new connections"]
    assert len(told) == 1, "one line, however many there are"
    assert told[0]["address"] == "127.0.0.1"


def test_half_sent_bodies_do_not_shut_others_out(start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenax.server.protocol.connections.BODY_SPARED", 0.0)
    server = start(max_connections_per_address=20, body_timeout=60.0)
    with ExitStack() as held:
        for _ in range(60):
            held.enter_context(connected(server)).sendall(HEAD + b"content-length: 100\r\n\r\n{")
        with server.http() as http:
            assert http.get("/healthz").status_code == 200


def test_half_sent_heads_make_room_where_the_total_is_reached(start) -> None:
    server = start(max_connections=20, head_timeout=60.0)
    with ExitStack() as held:
        for _ in range(60):
            held.enter_context(connected(server)).sendall(HALF)
        with server.http() as http:
            assert http.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("setting", "status", "says"),
    [
        ("max_connections_per_address", 429, b"connections from this address"),
        ("max_connections", 503, b"the server has 5 connections"),
    ],
)
def test_connections_in_use_are_not_ended_for_new_ones(start, setting: str, status: int, says: bytes) -> None:
    server = start(**{setting: 5})
    with ExitStack() as held, capture_logs() as logs:
        for _ in range(5):
            connection = held.enter_context(connected(server))
            connection.sendall(GET + b"\r\n")
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        for _ in range(3):
            answer = answer_to(server)
            assert status_of(answer) == status
            assert says in answer
        connection.sendall(GET + b"\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
    assert len([line for line in logs if "at their limit" in line["event"]]) == 1


def test_a_closed_connection_counts_no_more(start) -> None:
    server = start(max_connections_per_address=2)
    for _ in range(20):
        assert status_of(answer_to(server, GET + b"connection: close\r\n\r\n")) == 200


# -- requests that two parsers could read in two ways


@pytest.mark.parametrize(
    "rest",
    [
        b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"transfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n0\r\n\r\n",
        b"content-length: 2\r\ncontent-length: 2\r\n\r\n{}",
        b"content-length: 2\r\ncontent-length: 0\r\n\r\n{}",
        b"content-length: +2\r\n\r\n{}",
        b"content-length: 2, 2\r\n\r\n{}",
        b"content-length: 99999999999999999999999\r\n\r\n{}",
        b"transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        b"transfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"content-length : 2\r\n\r\n{}",
        b"content-length: 2\r\n x: folded\r\n\r\n{}",
        b"x: a\0b\r\ncontent-length: 2\r\n\r\n{}",
        b"x: a\rcontent-length: 2\r\n\r\n{}",
        b"transfer-encoding: chunked\r\n\r\n-1\r\n\r\n",
        b"transfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}",
        b"transfer-encoding: chunked\r\n\r\n2\r\n{}0\r\n\r\n",
    ],
)
def test_an_ambiguous_request_is_refused(start, rest: bytes) -> None:
    server = start(head_timeout=2.0, body_timeout=2.0)
    answer = answer_to(server, HEAD + rest)
    assert answer.count(b"tenax-version") == 1, "one answer to one request"
    assert status_of(answer) == 400


@pytest.mark.parametrize(
    "head",
    [
        b"CONNECT localhost:80 HTTP/1.1\r\nhost: localhost\r\n\r\n",
        GET + b"connection: upgrade\r\nupgrade: h2c\r\n\r\n",
        GET + b"connection: keep-alive, upgrade\r\nupgrade: websocket\r\n\r\n",
    ],
)
def test_nothing_is_read_after_a_request_for_another_protocol(start, head: bytes) -> None:
    answer = answer_to(start(), head + GET + b"\r\n")
    assert answer.count(b"tenax-version") == 1
    assert status_of(answer) < 500
    assert b"connection: close" in answer


def test_what_is_no_http_is_refused_with_one_line(start) -> None:
    server = start()
    with capture_logs() as logs:
        for _ in range(5):
            answer = answer_to(server, b"\x16\x03\x01\x02\x00\x01\x00\x01")
            assert status_of(answer) == 400
            assert b"speak HTTP/1.1" in answer
    assert len([line for line in logs if line["event"] == "a request was refused"]) == 1


# -- bodies


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_a_compressed_body_is_not_unpacked(standing, encoding: str) -> None:
    bomb = gzip.compress(b" " * 50_000_000 + b"{}")
    headers = {"content-type": "application/json", "content-encoding": encoding}
    with standing.http() as http:
        assert http.post("/v1/executions", content=bomb, headers=headers).status_code == 422


@pytest.mark.parametrize(
    "data", ["[" * 250 + "]" * 250, '{"a":' * 250 + "1" + "}" * 250], ids=["lists", "objects"]
)
def test_deep_json_is_refused(standing, data: str) -> None:
    body = ('{"source": "name: x", "input": {"x": ' + data + "}}").encode()
    with standing.http() as http:
        answer = http.post("/v1/executions", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ('{"x": [' + "1," * 2_000 + "1]}", 413),
        ('{"x": [' + "{}," * 1_500 + "{}]}", 413),
        ('{"x": "' + "1,{[" * 2_000 + '"}', 422),
        ('{"x": "' + '\\\\\\",' * 2_000 + '"}', 422),
    ],
    ids=["numbers", "objects", "a-text", "escapes"],
)
def test_values_are_counted_before_they_are_read(start, text: str, status: int) -> None:
    """422: there are few enough of them, and the body is not what the endpoint wants."""
    server = start(max_values=1000)
    for path in ("/v1/executions", "/v1/worker/report"):
        with server.http() as http:
            answer = http.post(path, content=text.encode(), headers={"content-type": "application/json"})
        assert answer.status_code == status
        assert ("at most 1,000 values in one request (max_values)" in answer.text) == (status == 413)


async def test_large_bodies_have_a_bounded_memory_together() -> None:
    goes_on, seen = asyncio.Event(), asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if (await receive())["body"]:
            seen.set()
            await goes_on.wait()
        await Response("read")(scope, receive, send)

    gate = EntryMiddleware(app, None, 1_000_000, 2_000_000, 1_000_000)

    async def status_of_body(size: int, token_id: int = 1) -> int:
        found: list[int] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": b" " * size}

        async def send(message: Any) -> None:
            found.append(message.get("status", 0))

        user = Principal("someone", "admin", token_id)
        scope = {"type": "http", "method": "POST", "path": "/healthz", "headers": [], "user": user}
        await gate(scope, receive, send)
        return found[0]

    first = asyncio.create_task(status_of_body(900_000))
    await seen.wait()
    assert await status_of_body(200_000) == 503, "one token has half of it"
    seen.clear()
    others = asyncio.create_task(status_of_body(900_000, token_id=2))
    await seen.wait()
    assert await status_of_body(300_000, token_id=3) == 503, "all together have all of it"
    small = asyncio.create_task(status_of_body(SMALL_BODY, token_id=3))
    goes_on.set()
    assert [await first, await others, await small] == [200, 200, 200]
    assert await status_of_body(900_000) == 200, "what is answered takes no room"


def test_wide_json_is_refused_in_a_few_words(standing) -> None:
    body = {f"key{n}": n for n in range(200_000)}
    with standing.http() as http:
        answer = http.post("/v1/executions", json=body)
    assert answer.status_code == 422
    assert len(answer.content) < 20_000
    assert answer.json()["title"].startswith("the body cannot be accepted: key0: there is no such field")
