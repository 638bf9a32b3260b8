"""Sends bytes that are no HTTP, and HTTP that two readers could understand differently: an answer below 500 or a closed connection."""

from __future__ import annotations

import re
import socket
from typing import Any
from urllib.parse import urlsplit

from hypothesis import given, note
from hypothesis import strategies as st
from support.strategies.hostile_strategies import THROUGH_A_SERVER, fuzzed

INNER = b"GET /v1/smuggled HTTP/1.1\r\nhost: localhost\r\n\r\n"
"""A request that an attacker would like to have answered as a separate one."""
LAST = b"GET /v1/last HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
"""Ends a connection that is still open. Its answer, if there is one, is the last."""
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")

NAMES = st.sampled_from(
    [
        *(
            b"host",
            b"x",
            b"origin",
            b"authorization",
            b"content-type",
            b"connection",
            b"upgrade",
            b"expect",
            b"te",
        ),
        *(
            b"content-length",
            b"transfer-encoding",
            b"forwarded",
            b"x-forwarded-for",
            b"range",
            b"cookie",
            b"accept",
        ),
        *(
            b"",
            b" x",
            b"x ",
            b"x\0",
            b"\xff",
            b"x\xc3\xa9",
            b"n" * 3_000,
            b"(x)",
            b"x:y",
            b":",
            b"\tx",
            b"x\r",
        ),
    ]
)
VALUES = st.sampled_from(
    [
        *(
            b"localhost",
            b"evil.example",
            b"127.0.0.1:1",
            b"null",
            b"http://localhost",
            b"[::1",
            b"a@b",
            b"",
            b" ",
        ),
        *(
            b"0",
            b"2",
            b"-1",
            b"+2",
            b"99999999999999999999",
            b"0x10",
            b"1 0",
            b"chunked",
            b"chunked, identity",
        ),
        *(
            b"close",
            b"keep-alive",
            b"upgrade",
            b"websocket",
            b"h2c",
            b"100-continue",
            b"Bearer ",
            b"Bearer \xff",
        ),
        *(b"\0", b"\xff\xfe", b"a\rb", b"a\nb", b"v" * 5_000, b"application/json", b"bytes=0-1", b"gzip"),
    ]
)
METHODS = st.sampled_from(
    [b"GET", b"POST", b"HEAD", b"OPTIONS", b"TRACE", b"CONNECT", b"PRI", b"get", b"", b"G\0T", b"M" * 99]
)
PATHS = st.sampled_from(
    [
        *(
            b"/healthz",
            b"/v1/executions",
            b"/v1/executions/1",
            b"/v1/worker/lease",
            b"/v1/callbacks/1/1/1/x",
            b"/",
            b"*",
        ),
        *(
            b"/v1/executions?since=%ff",
            b"/v1/executions/%00",
            b"/%2e%2e/%2e%2e/etc/passwd",
            b"//healthz",
            b"/\xff",
            b"/a b",
        ),
        *(
            b"http://evil.example/healthz",
            b"localhost:1",
            b"/" + b"p" * 5_000,
            b"?",
            b"#",
            b"",
            b"/v1/workers/%0d%0ax:y",
        ),
        *(
            b"/v1/executions/99999999999999999999",
            b"/healthz?verbose&x=\xc3",
            b"/\0",
            b"/healthz#x",
            b"/v1//executions",
        ),
    ]
)
VERSIONS = st.sampled_from(
    [b"HTTP/1.1"] * 4 + [b"HTTP/1.0", b"HTTP/0.9", b"HTTP/2.0", b"HTTP/1.1 x", b"", b"http/1.1", b"HTTP/9.9"]
)
ENDS = st.sampled_from([b"\r\n"] * 6 + [b"\n", b"\r", b"\r\r\n", b"", b"\0\r\n", b"\r\n "])


@st.composite
def heads(draw: st.DrawFn) -> bytes:
    parts = [b" ".join((draw(METHODS), draw(PATHS), draw(VERSIONS))), draw(ENDS)]
    if draw(st.booleans()):
        parts += [b"host: localhost\r\n"]
    for name, value in draw(st.lists(st.tuples(NAMES, VALUES), max_size=4)):
        parts += [name, draw(st.sampled_from([b": ", b":", b" : ", b""])), value, draw(ENDS)]
    parts += [
        draw(st.sampled_from([b"\r\n", b"\r\n", b"\n", b""])),
        draw(st.sampled_from([b"", b"{}", INNER])),
    ]
    return b"".join(parts)


BODY = b"%x\r\n%s\r\n0\r\n\r\n" % (len(INNER), INNER)
_LENGTH = b"%d" % len(INNER)
AMBIGUOUS = (
    b"content-length: " + _LENGTH + b"\r\ntransfer-encoding: chunked\r\n",
    b"transfer-encoding: chunked\r\ncontent-length: 0\r\n",
    b"content-length: 0\r\ncontent-length: " + _LENGTH + b"\r\n",
    b"content-length: 0, " + _LENGTH + b"\r\n",
    b"content-length: +0\r\n",
    b"content-length: 0x0\r\n",
    b"content-length: 0 1\r\n",
    b"content-length: \xb2\r\n",
    b"content-length: -1\r\n",
    b"content-length : 0\r\n",
    b"content-length\0: 0\r\n",
    b"content-length: 0\x0b\r\n",
    b"content-length: 18446744073709551616\r\n",
    b"x: y\r\n content-length: 0\r\n",
    b"x: y\ncontent-length: 0\r\n\r\n",
    b"x: y\rcontent-length: 0\r\n",
    b"x: y\0\r\n",
    b"transfer-encoding : chunked\r\n",
    b"transfer-encoding: xchunked\r\n",
    b"transfer-encoding: chunked, identity\r\n",
    b"transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n",
    b"transfer-encoding: \x0bchunked\r\n",
    b"transfer-encoding:\r\n chunked\r\n",
    b"transfer-encoding: chunked\0\r\n",
)
"""Headers that leave open where the body ends, or whether they are headers."""
BODIES = (
    INNER,
    BODY,
    b"0\r\n\r\n" + INNER,
    b"0;x=y\n\n" + INNER,
    b"-1\r\n" + INNER,
    b"0x0\r\n\r\n" + INNER,
    b"1\r\nxx\r\n" + INNER,
)


def exchange(target: Any, sent: bytes, cut: int | None = None) -> bytes:
    """Sends it in one piece or in two, and reads until the server closes the connection."""
    where = urlsplit(target.served.url)
    found = bytearray()
    with socket.create_connection((where.hostname, where.port), timeout=20) as connection:
        try:
            for piece in (sent,) if cut is None else (sent[:cut], sent[cut:]):
                connection.sendall(piece)
            while piece := connection.recv(65536):
                found += piece
        except ConnectionError:
            pass  # closed while there was more to send
    return bytes(found)


def assert_sound(answers: bytes) -> list[int]:
    note(repr(answers[:2_000]))
    assert not answers or answers.startswith(b"HTTP/1.1 ")
    statuses = [int(status) for status in _STATUS.findall(answers)]
    assert all(status < 500 for status in statuses)
    return statuses


@given(heads() | st.binary(max_size=60), st.none() | st.integers(1, 60))
@fuzzed(60, share=THROUGH_A_SERVER)
def test_any_head_is_answered_or_cut_off(target, head, cut):
    before = target.counted("select count(*) from tenax.execution")
    note(repr(head))
    assert_sound(exchange(target, head + LAST, cut))
    assert target.is_alive()
    assert target.counted("select count(*) from tenax.execution") == before


@given(
    st.sampled_from([b"GET", b"POST"]),
    st.sampled_from([b"/healthz", b"/v1/executions", b"/v1/callbacks/1/1/1/x"]),
    st.sampled_from(AMBIGUOUS),
    st.sampled_from(BODIES),
    st.lists(
        st.sampled_from([b"x: y\r\n", b"content-type: application/json\r\n", b"expect: 100-continue\r\n"]),
        max_size=2,
    ),
    st.none() | st.integers(1, 150),
)
@fuzzed(60, share=THROUGH_A_SERVER)
def test_one_ambiguous_request_is_never_two(target, method, path, ambiguous, body, others, cut):
    head = b"%s %s HTTP/1.1\r\nhost: localhost\r\n%s%s\r\n" % (method, path, b"".join(others), ambiguous)
    note(repr(head + body))
    answers = exchange(target, head + body + LAST, cut)
    statuses = assert_sound(answers)
    assert b"smuggled" not in answers
    assert len([status for status in statuses if status >= 200]) <= 1
    assert target.is_alive()


def test_the_request_within_is_answered_where_it_is_one(target):
    """Else the test above could not fail."""
    answers = exchange(target, b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n" + INNER + LAST)
    assert [int(status) for status in _STATUS.findall(answers)] == [200, 404, 404]
    assert b"smuggled" in answers
