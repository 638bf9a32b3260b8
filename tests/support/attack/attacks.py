"""Defines attacks on a server by anyone who can reach it, has a token, runs a worker, or is called by a step.

Each attack lists the outcomes that are harmless. `siege.py` runs the attacks, and measures what each costs the server.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import resource
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx2

from support.worker_requests import one_by_one, report_on
from tenax.model.wire import PROTOCOL

QUEUE = "attacked"
"""The queue of everything that attackers submit. Honest workers do not serve it."""
MB = 1_000_000
JSON = {"content-type": "application/json"}
GET = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n"
POST = b"POST /v1/executions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
STEP = f"{{step: a, type: python, task: 'm:f', queue: {QUEUE}}}"
PLAIN = f"name: plain\ninput: {{x: {{}}}}\nworkflow: [{STEP}]\n"
ASYNC = f"""
name: jobs
workflow:
  - {{step: a, type: http, url: "http://callee.invalid/", method: POST, async: {{deadline: 1h}}, queue: {QUEUE}}}
"""


class Target:
    """Is a server under attack, with the means of an attacker: tokens, connections, and a worker's name."""

    def __init__(self, url: str, token: str, others_token: str) -> None:
        self.url, self.others_token = url, others_token
        self._where = urlsplit(url)
        self.http = httpx2.Client(base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=120)
        self.strange = httpx2.Client(base_url=url, timeout=120)
        """The client without a token."""
        self.head = b"authorization: Bearer " + token.encode() + b"\r\n"
        self.worker = f"liar-{uuid4().hex[:8]}"

    def close(self) -> None:
        self.http.close()
        self.strange.close()

    @contextmanager
    def connected(self) -> Iterator[socket.socket]:
        with socket.create_connection((self._where.hostname, self._where.port), timeout=60) as connection:
            yield connection

    def send(self, *pieces: bytes) -> str:
        """Sends bytes over a connection of their own.

        Returns the status of the answer, `closed`, or `split` if there was more than one answer.
        """
        answer = b""
        with self.connected() as connection:
            with contextlib.suppress(ConnectionError, BrokenPipeError):
                for piece in pieces:
                    connection.sendall(piece)
            with contextlib.suppress(ConnectionError):
                while piece := connection.recv(65536):
                    answer += piece
        if answer.count(b"\ntenax-version") > 1:
            return "split"
        return answer.split(b" ", 2)[1].decode() if answer else "closed"

    def post(self, path: str, body: Any) -> str:
        return str(self.http.post(path, json=body).status_code)

    def post_text(self, path: str, body: bytes, **headers: str) -> str:
        return str(self.http.post(path, content=body, headers=JSON | headers).status_code)

    def submit(self, source: str, **more: Any) -> int:
        answer = self.http.post("/v1/executions", json={"source": source, **more})
        assert answer.status_code == 201, answer.text[:500]
        found: int = answer.json()["id"]
        return found

    def lease(self, execution_id: int, runtime: str = "python", wait: float = 30) -> dict[str, Any]:
        """Leases the items of an execution, as a worker that lies."""
        [given] = self.lease_many(execution_id, 1, runtime, wait)
        return given

    def lease_many(
        self, execution_id: int, slots: int, runtime: str = "python", wait: float = 30
    ) -> list[dict[str, Any]]:
        names = {
            "worker": self.worker, "runtimes": [runtime], "queues": [QUEUE], "life": str(uuid4())
        }  # fmt: skip
        self.http.post("/v1/worker/register", json={**names, "protocol": PROTOCOL})
        body = {**names, "grant": str(uuid4()), "slots": slots, "wait": wait, "execution_id": execution_id}
        return one_by_one(self.http.post("/v1/worker/lease", json=body).json())

    def report(self, given: dict[str, Any], outcome: dict[str, Any]) -> str:
        answer = self.http.post("/v1/worker/report", json=[report_on(given, outcome)])
        return answer.json()[0]["status"] if answer.status_code == 200 else str(answer.status_code)

    def end_of(self, execution_id: int) -> str:
        """Waits for the end of an execution. Returns its state, and the class of its failure."""
        cursor = None
        while True:
            found = self.http.get(f"/v1/executions/{execution_id}").json()
            if found["status"] in ("completed", "failed", "cancelled"):
                failure = found.get("failure") or {}
                return " ".join(filter(None, [found["status"], failure.get("class")]))
            asked = {"wait": 5} | ({"cursor": cursor} if cursor else {})
            cursor = self.http.get(f"/v1/executions/{execution_id}/news", params=asked).json()["cursor"]

    @staticmethod
    def callback(given: dict[str, Any]) -> str:
        """Returns the path of a callback address on this server."""
        where = urlsplit(given["callback"])
        return f"{where.path}?{where.query}"

    def accepted(self) -> dict[str, Any]:
        """Returns an attempt that its callee has accepted."""
        given = self.lease(self.submit(ASYNC), "http")
        assert self.report(given, {"status": "accepted"}) == "applied"
        return given


@dataclass(frozen=True, slots=True)
class Attack:
    kind: str
    name: str
    harmless: tuple[str, ...]
    """The acceptable outcomes."""
    make: Callable[[Target], str]


ATTACKS: list[Attack] = []


def attack(
    kind: str, name: str, *harmless: str
) -> Callable[[Callable[[Target], str]], Callable[[Target], str]]:
    def add(make: Callable[[Target], str]) -> Callable[[Target], str]:
        ATTACKS.append(Attack(kind, name, harmless, make))
        return make

    return add


# -- connections and heads, before the server knows the caller


@attack("head", "a header of 400 MB", "431", "closed")
def _(target: Target) -> str:
    return target.send(GET + b"x: ", *[b"a" * MB] * 400)


@attack("head", "100,000 headers", "431", "closed")
def _(target: Target) -> str:
    return target.send(GET, *[b"".join(b"x%d: y\r\n" % n for n in range(1000))] * 100)


@attack("head", "an address of 10 MB", "431", "414", "closed")
def _(target: Target) -> str:
    return target.send(b"GET /", *[b"a" * MB] * 10)


@attack("head", "a trailer of 50 MB", "401", "431", "closed")
def _(target: Target) -> str:
    return target.send(
        POST + b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", b"t: ", *[b"a" * MB] * 50
    )


@attack("head", "TLS to a port without it", "400")
def _(target: Target) -> str:
    return target.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 500)


SMUGGLED = {
    "a length beside chunks": b"content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    "two lengths": b"content-length: 0\r\ncontent-length: 20\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    "a length with a sign": b"content-length: +2\r\n\r\n{}",
    "a huge length": b"content-length: 99999999999999999999999\r\n\r\n{}",
    "two encodings": b"transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "a space before the colon": b"content-length : 2\r\n\r\n{}",
    "a folded header": b"content-length: 2\r\n x: folded\r\n\r\n{}",
    "NUL in a header": b"x: a\0b\r\ncontent-length: 2\r\n\r\n{}",
    "a bare line end": b"x: a\rcontent-length: 2\r\n\r\n{}",
    "a chunk of negative size": b"transfer-encoding: chunked\r\n\r\n-1\r\n\r\n",
    "a chunk of endless size": b"transfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}",
}


def _smuggle(name: str, rest: bytes) -> None:
    @attack("smuggling", name, "400")
    def _(target: Target) -> str:
        return target.send(POST + target.head + rest)


for _name, _rest in SMUGGLED.items():
    _smuggle(_name, _rest)


@attack("origin", "a web page of another site, without a token", "401")
def _(target: Target) -> str:
    return target.send(
        POST + b"origin: https://evil.example\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}"
    )


@attack("origin", "a name that leads to loopback, without a token", "401")
def _(target: Target) -> str:
    head = b"GET /v1/executions HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n"
    return target.send(head)


@attack("origin", "a host that is no name", "400", "401")
def _(target: Target) -> str:
    head = b"GET /v1/executions HTTP/1.1\r\nhost: a b@[::1\r\nconnection: close\r\n\r\n"
    return target.send(head)


@attack("slow", "half of a head", "408")
def _(target: Target) -> str:
    return target.send(b"GET /healthz HTTP/1.1\r\nhost: loc")


@attack("slow", "half of a body", "408")
def _(target: Target) -> str:
    return target.send(POST + target.head + b"content-length: 1000\r\n\r\n{")


@attack("slow", "an answer that nobody reads", "closed")
def _(target: Target) -> str:
    with target.connected() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with contextlib.suppress(ConnectionError, TimeoutError):
            connection.settimeout(5)
            for _ in range(100_000):
                connection.sendall(
                    b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n" + target.head + b"\r\n"
                )
    return "closed"


@attack("many", "as many half-sent heads as one may hold", "200")
def _(target: Target) -> str:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with ExitStack() as held:
        for _ in range(min(3000, most - 200)):
            held.enter_context(target.connected()).sendall(b"GET /healthz HTTP/1.1\r\nhost: loc")
        return str(target.strange.get("/healthz").status_code)


@attack("many", "1,000 guesses at a token", "401")
def _(target: Target) -> str:
    found = {
        target.strange.get("/v1/executions", headers={"authorization": f"Bearer tenax_{n:043d}"}).status_code
        for n in range(1000)
    }
    return " ".join(map(str, sorted(found)))


# -- bodies


@attack("body", "a body of 17 MB", "413", "closed")
def _(target: Target) -> str:
    return target.send(
        POST + target.head + b"connection: close\r\ncontent-length: 17000000\r\n\r\n", *[b" " * MB] * 17
    )


@attack("body", "a body that unpacks to 1 GB", "422")
def _(target: Target) -> str:
    return target.post_text("/v1/executions", _bomb(), **{"content-encoding": "gzip"})


@lru_cache
def _bomb() -> bytes:
    return gzip.compress(b" " * (1000 * MB), 1)


@attack("body", "JSON with 1,000,000 levels", "413")
def _(target: Target) -> str:
    deep = b"[" * MB + b"]" * MB
    return target.post_text("/v1/executions", b'{"source": "name: x", "input": {"x": ' + deep + b"}}")


@attack("body", "JSON with 300,000 unknown fields", "413")
def _(target: Target) -> str:
    return target.post("/v1/executions", {f"key{n}": n for n in range(300_000)})


@attack("body", "an input of 10 MB of small numbers", "413")
def _(target: Target) -> str:
    body = json.dumps({"source": PLAIN, "input": {"x": [1] * (5 * MB)}}).encode()
    return target.post_text("/v1/executions", body.replace(b", ", b","))


@attack("body", "an input of 13 MB in many small objects", "413")
def _(target: Target) -> str:
    return target.post("/v1/executions", {"source": PLAIN, "input": {"x": [{"a": {}}] * 1_200_000}})


@attack("body", "an input of 7 MB with a million commas in a text", "201")
def _(target: Target) -> str:
    return target.post("/v1/executions", {"source": PLAIN, "input": {"x": "1,2,3,4" * MB}})


@attack("body", "40 bodies of 15 MB, all unfinished", "200")
def _(target: Target) -> str:
    head = POST + target.head + b"content-length: 15000000\r\n\r\n"
    with ExitStack() as held:
        for _ in range(40):
            with contextlib.suppress(ConnectionError):
                connection = held.enter_context(target.connected())
                for piece in (head, *[b" " * MB] * 14):
                    connection.sendall(piece)
        return str(target.strange.get("/healthz").status_code)


@attack("body", "a key of 1 MB", "422")
def _(target: Target) -> str:
    return target.post("/v1/executions", {"source": PLAIN, "key": "k" * MB})


ODD = {
    "a number beyond 64 bits": b"18446744073709551616",
    "a number of 1,000,000 digits": b"9" * MB,
    "a number with a huge exponent": b"1e400",
    "NaN": b"NaN",
    "NUL in a text": b'"a\\u0000b"',
    "half of a surrogate pair": b'"\\ud800"',
    "bytes that are no UTF-8": b'"\xff\xfe"',
}


def _odd(name: str, value: bytes) -> None:
    @attack("value", name, "400", "422")
    def _(target: Target) -> str:
        source = json.dumps(PLAIN).encode()
        return target.post_text(
            "/v1/executions", b'{"source": ' + source + b', "input": {"x": ' + value + b"}}"
        )


for _name, _value in ODD.items():
    _odd(_name, _value)


@attack("value", "a batch of 1,000 with one that is wrong", "422")
def _(target: Target) -> str:
    return target.post("/v1/executions/batch", {"submissions": [{"source": PLAIN}] * 999 + [{"source": "{"}]})


@attack("value", "a search for what nobody has", "404", "422")
def _(target: Target) -> str:
    return str(target.http.get(f"/v1/executions/{'9' * 5000}").status_code)


# -- definitions


@attack("definition", "aliases that unfold to a billion values", "422")
def _(target: Target) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    return target.post("/v1/workflows", {"source": "\n".join(lines)})


@attack("definition", "YAML with 100,000 levels", "422")
def _(target: Target) -> str:
    return target.post("/v1/workflows", {"source": "name: x\nworkflow: " + "[" * 100_000})


@attack("definition", "a definition of 5 MB", "422")
def _(target: Target) -> str:
    return target.post("/v1/workflows", {"source": PLAIN + "# padding\n" * 500_000})


@attack("definition", "16,000 steps", "422")
def _(target: Target) -> str:
    return target.post("/v1/workflows", {"source": _chain(16_000)})


@attack("definition", "10,000 steps, of which each needs the one before", "201")
def _(target: Target) -> str:
    return target.post("/v1/workflows", {"source": _chain(10_000)})


@attack("definition", "10,000 steps, all started at once, then cancelled", "200", "202")
def _(target: Target) -> str:
    steps = "\n".join(f"- {{step: s{n}, type: python, task: 'm:f', queue: {QUEUE}}}" for n in range(10_000))
    id_ = target.submit(f"name: wide\nworkflow:\n{steps}\n")
    return target.post(f"/v1/executions/{id_}/cancel", {})


@attack("definition", "10,000 steps, all left out at once, seen and retried", "completed")
def _(target: Target) -> str:
    steps = "\n".join(
        f"- {{step: s{n}, type: python, task: 'm:f', queue: {QUEUE}, when: 'false'}}" for n in range(10_000)
    )
    id_ = target.submit(f"name: left-out\nworkflow:\n{steps}\n")
    _look_at(target, id_)
    answer = target.http.post(f"/v1/executions/{id_}/retry", json={"new": True})
    assert answer.status_code == 200, answer.text[:500]
    return target.end_of(answer.json()["id"])


@attack("definition", "10,000 steps behind one, of which half have failed, retried from there", "200")
def _(target: Target) -> str:
    behind = f"type: python, task: 'm:f', queue: {QUEUE}, needs: [a]"
    fates = "for_each: '{{ steps.a.result.nothing }}'", "when: 'false'"
    steps = "\n".join(f"- {{step: s{n}, {behind}, {fates[n % 2]}}}" for n in range(9_999))
    id_ = target.submit(f"name: half\nworkflow:\n- {STEP}\n{steps}\n")
    assert target.report(target.lease(id_), {"status": "succeeded", "result": {}}) == "applied"
    assert target.end_of(id_) == "failed invalid"
    _look_at(target, id_)
    return target.post(f"/v1/executions/{id_}/retry", {"new": True})


@attack("definition", "5,000 steps that cannot start, and 5,000 behind all of them", "failed invalid")
def _(target: Target) -> str:
    made = f"type: python, task: 'm:f', queue: {QUEUE}"
    first = [f"- {{step: s{n}, {made}, for_each: '{{{{ input.x.y }}}}'}}" for n in range(5_000)]
    needs = ", ".join(f"s{n}" for n in range(5_000))
    rest = [f"- {{step: t{n}, {made}, needs: [{f't{n - 1}' if n else needs}]}}" for n in range(4_999)]
    lines = "\n".join(first + rest)
    id_ = target.submit(f"name: dead\ninput: {{x: {{}}}}\nworkflow:\n{lines}\n", input={"x": 1})
    _look_at(target, id_)
    return target.end_of(id_)


@attack("definition", "1,000 steps left out at once, and 400 that need all of them", "completed")
def _(target: Target) -> str:
    made = f"type: python, task: 'm:f', queue: {QUEUE}, when: 'false'"
    first = [f"- {{step: s{n}, {made}}}" for n in range(1_000)]
    needs = ", ".join(f"s{n}" for n in range(1_000))
    rest = [f"- {{step: t{n}, {made}, needs: [{needs}]}}" for n in range(400)]
    lines = "\n".join(first + rest)
    id_ = target.submit(f"name: knots\nworkflow:\n{lines}\n")
    _look_at(target, id_)
    return target.end_of(id_)


def _look_at(target: Target, execution_id: int) -> None:
    """Reads every view of an execution."""
    for path in ("", "/events", "/explain", "/tree", "/news", "/diagnosis"):
        answer = target.http.get(f"/v1/executions/{execution_id}{path}")
        assert answer.status_code == 200, (path, answer.text[:500])
        assert isinstance(answer.json(), dict | list), path


@lru_cache
def _chain(steps: int) -> str:
    lines = (
        f"- {{step: s{n}, type: python, task: 'm:f', queue: {QUEUE}, args: {{a: '{{{{ execution_id + {n} }}}}'}}, "
        f"needs: [{f's{n - 1}' if n else ''}]}}"
        for n in range(steps)
    )
    return "name: chain\nworkflow:\n" + "\n".join(lines) + "\n"


@attack("definition", "one step with 100,000 templates", "422")
def _(target: Target) -> str:
    many = ", ".join(["'{{ attempt }}'"] * 100_000)
    source = f"name: x\nworkflow:\n- {{step: a, type: python, task: 'm:f', queue: {QUEUE}, args: {{a: [{many}]}}}}\n"
    return target.post("/v1/workflows", {"source": source})


def _with_schema(schema: dict[str, Any], steps: str = f"[{STEP}]") -> str:
    return f"name: checked\ninput: {{x: {json.dumps(schema)}}}\nworkflow: {steps}\n"


SLOW_PATTERN = {"type": "string", "pattern": "^([a-z0-9]+[._-]?)+@x$"}


@attack("schema", "a pattern that never ends", "422")
def _(target: Target) -> str:
    return target.post("/v1/executions", {"source": _with_schema(SLOW_PATTERN), "input": {"x": "a" * 60}})


@attack("schema", "a pattern that never ends, in a child", "failed invalid")
def _(target: Target) -> str:
    parent = f"""
name: parent
workflow:
  - {STEP}
  - {{step: child, type: workflow, file: child.yaml, input: {{x: "{{{{ steps.a.result }}}}"}}, needs: [a]}}
"""
    id_ = target.submit(parent, files={"child.yaml": _with_schema(SLOW_PATTERN)})
    target.report(target.lease(id_), {"status": "succeeded", "result": "a" * 60})
    return target.end_of(id_)


@attack("schema", "patternProperties that never end", "422")
def _(target: Target) -> str:
    schema = {"type": "object", "patternProperties": {"^([a-z0-9]+[._-]?)+@x$": {}}}
    return target.post("/v1/executions", {"source": _with_schema(schema), "input": {"x": {"a" * 60: 1}}})


@attack("schema", "uniqueItems of 20,000 objects", "201", "422")
def _(target: Target) -> str:
    items = [{"a": n, "b": [n]} for n in range(20_000)]
    source = _with_schema({"type": "array", "uniqueItems": True})
    return target.post("/v1/executions", {"source": source, "input": {"x": items}})


@attack("schema", "anyOf within anyOf", "422")
def _(target: Target) -> str:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(9):
        schema = {"anyOf": [{"type": "array", "items": schema}, {"type": "array", "items": schema}]}
    value: Any = ["x"] * 100
    for _ in range(8):
        value = [value]
    return target.post("/v1/executions", {"source": _with_schema(schema), "input": {"x": value}})


@attack("schema", "a schema that refers to itself", "201", "422")
def _(target: Target) -> str:
    schema = {"$defs": {"t": {"anyOf": [{"$ref": "#/$defs/t"}, {"$ref": "#/$defs/t"}]}}, "$ref": "#/$defs/t"}
    return target.post("/v1/executions", {"source": _with_schema(schema), "input": {"x": [[[1]]]}})


# -- conditions and templates


@attack("condition", "ten rules that look through 0.7 MB", "applied")
def _(target: Target) -> str:
    rules = ", ".join(f"{{when: \"{{{{ 'x{n}' in (data | string) }}}}\", retry: true}}" for n in range(10))
    source = f"name: x\nworkflow:\n- {{step: a, type: python, task: 'm:f', queue: {QUEUE}, retry: {{max_attempts: 5, rules: [{rules}]}}}}\n"
    given = target.lease(target.submit(source))
    data = {f"k{n}": "v" * 100 for n in range(6_500)}
    return target.report(given, {"status": "failed", "facts": {"exception": "E", "data": data}})


@attack("condition", "a template that joins a text of 0.9 MB 200 times", "failed invalid")
def _(target: Target) -> str:
    joined = " ~ ".join(["steps.a.result"] * 200)
    source = f"name: x\nworkflow:\n- {STEP}\n- {{step: b, type: python, task: 'm:f', queue: {QUEUE}, needs: [a], args: {{x: '{{{{ {joined} }}}}'}}}}\n"
    id_ = target.submit(source)
    target.report(target.lease(id_), {"status": "succeeded", "result": "a" * 900_000})
    with contextlib.suppress(ValueError):  # nothing is given: the attempt has failed before
        target.lease(id_, wait=0)
    return target.end_of(id_)


@attack("condition", "the result of 8 MB in ten templates", "failed invalid")
def _(target: Target) -> str:
    args = ", ".join(f"a{n}: '{{{{ steps.a.result }}}}'" for n in range(10))
    source = f"name: x\nworkflow:\n- {STEP}\n- {{step: b, type: python, task: 'm:f', queue: {QUEUE}, needs: [a], args: {{{args}}}}}\n"
    id_ = target.submit(source)
    target.report(target.lease(id_), {"status": "succeeded", "result": "a" * 8 * MB})
    with contextlib.suppress(ValueError):  # nothing is given: the attempt has failed before
        target.lease(id_, wait=0)
    return target.end_of(id_)


# -- workers that lie


@attack("worker", "a report on another execution", "409", "422", "late")
def _(target: Target) -> str:
    mine, other = target.lease(target.submit(PLAIN)), target.submit(PLAIN)
    return target.report(mine | {"execution_id": other}, {"status": "succeeded"})


@attack("worker", "a token that nobody was given", "late")
def _(target: Target) -> str:
    return target.report(
        target.lease(target.submit(PLAIN)) | {"token": str(uuid4())}, {"status": "succeeded"}
    )


@attack("worker", "a result of 15 MB", "applied")
def _(target: Target) -> str:
    return target.report(
        target.lease(target.submit(PLAIN)), {"status": "succeeded", "result": ["x" * 100] * 145_000}
    )


@attack("worker", "a message and a traceback of 7 MB each", "applied")
def _(target: Target) -> str:
    facts = {"exception": "E" * MB, "message": "m" * 7 * MB, "traceback": "t" * 7 * MB, "reason": "r" * 1000}
    return target.report(target.lease(target.submit(PLAIN)), {"status": "failed", "facts": facts})


@attack("worker", "200 late reports, all different", "late")
def _(target: Target) -> str:
    given = target.lease(target.submit(PLAIN))
    target.report(given, {"status": "succeeded"})
    found = {target.report(given, {"status": "succeeded", "result": ["x" * 10_000, n]}) for n in range(200)}
    events = target.http.get(f"/v1/executions/{given['execution_id']}/events").json()
    assert sum(one["type"] == "late_result" for one in events) <= 10
    return " ".join(sorted(found))


@attack("worker", "facts that only the server can know", "applied")
def _(target: Target) -> str:
    facts = {"failure_class": "worker_lost", "reason": "lease_expired"}
    return target.report(target.lease(target.submit(PLAIN)), {"status": "failed", "facts": facts})


@attack("worker", "a name with a line break", "422")
def _(target: Target) -> str:
    return target.post(
        "/v1/worker/register", {"worker": "a\nb", "runtimes": ["python"], "protocol": PROTOCOL}
    )


@attack("worker", "the name of another's worker", "409")
def _(target: Target) -> str:
    body = {"worker": target.worker, "runtimes": ["python"], "protocol": PROTOCOL}
    target.http.post("/v1/worker/register", json=body)
    headers = {"authorization": f"Bearer {target.others_token}"}
    return str(target.strange.post("/v1/worker/register", json=body, headers=headers).status_code)


@attack("worker", "10,000 labels", "422")
def _(target: Target) -> str:
    labels = {f"l{n}": "x" for n in range(10_000)}
    body = {"worker": target.worker, "runtimes": ["python"], "labels": labels, "protocol": PROTOCOL}
    return target.post("/v1/worker/register", body)


@attack("worker", "one lease handed back 300 times", "204")
def _(target: Target) -> str:
    given = target.lease(target.submit(PLAIN))
    body = {name: given[name] for name in ("execution_id", "item_id", "attempt", "token")}
    found = {
        target.http.post("/v1/worker/release", json=[body | {"reason": "draining"}]).status_code
        for _ in range(300)
    }
    return " ".join(map(str, sorted(found)))


# -- callbacks


@attack("callback", "1,000 guesses at a receipt", "404")
def _(target: Target) -> str:
    given = target.accepted()
    place = f"/v1/callbacks/{given['execution_id']}/{given['item_id']}/{given['attempt']}"
    found = {
        target.strange.post(f"{place}/{n:043d}", json={"success": True}).status_code for n in range(1000)
    }
    return " ".join(map(str, sorted(found)))


@attack("callback", "bodies that are none", "400", "422")
def _(target: Target) -> str:
    callback = target.callback(target.accepted())
    bodies = (
        b"{",
        b"\xff",
        b'{"success": "yes"}',
        b"[" * 100_000,
        b'{"success": true, "result": 1e400}',
    )
    found = {target.strange.post(callback, content=one, headers=JSON).status_code for one in bodies}
    assert found <= {400, 422}, found
    return str(max(found))


@attack("callback", "40 late ones of 14 MB", "200", "409")
def _(target: Target) -> str:
    given = target.accepted()
    callback = target.callback(given)
    target.strange.post(callback, json={"success": True})
    found = {
        target.strange.post(callback, json={"success": True, "result": ["x" * 14 * MB, n]}).status_code
        for n in range(40)
    }
    events = target.http.get(f"/v1/executions/{given['execution_id']}/events")
    assert len(events.content) < 200_000
    return " ".join(map(str, sorted(found)))


# -- views


@attack("view", "200 signals of 70 KB each, seen five times in every view", "200")
def _(target: Target) -> str:
    id_ = target.submit(PLAIN)
    for n in range(200):
        target.http.post(
            f"/v1/executions/{id_}/signals", json={"name": "go", "data": "x" * 70_000, "key": str(n)}
        )
    found = {
        target.http.get(f"/v1/executions/{id_}{path}").status_code
        for path in ("", "/events", "/explain", "/tree")
        for _ in range(5)
    }
    return " ".join(map(str, sorted(found)))


@attack("view", "10,000 steps, all queued, seen, paused, cancelled, and retried", "200")
def _(target: Target) -> str:
    steps = "\n".join(f"- {{step: s{n}, type: python, task: 'm:f', queue: {QUEUE}}}" for n in range(10_000))
    id_ = target.submit(f"name: seen\nworkflow:\n{steps}\n")
    _look_at(target, id_)
    for verb in ("pause", "resume", "cancel"):
        assert target.post(f"/v1/executions/{id_}/{verb}", {}) == "200"
    _look_at(target, id_)
    return target.post(f"/v1/executions/{id_}/retry", {"new": True})


@attack("view", "100,000 items of a fan-out, given by an input of 1 MB", "200")
def _(target: Target) -> str:
    source = (
        "name: spread\ninput: {list: {}}\nworkflow:\n"
        f"- {{step: a, type: python, task: 'm:f', queue: {QUEUE}, for_each: '{{{{ input.list }}}}', "
        "concurrency: {limit: 10, key: '{{ item }}', key_limit: 1}}\n"
    )
    id_ = target.submit(source, input={"list": [f"k{n:06d}" for n in range(100_000)]})
    _look_at(target, id_)
    items = target.http.get(f"/v1/executions/{id_}/steps/a/items", params={"limit": 1000})
    assert len(items.json()) == 1000
    assert target.post(f"/v1/executions/{id_}/cancel", {}) == "200"
    _look_at(target, id_)
    return target.post(f"/v1/executions/{id_}/retry", {"new": True})


@attack("view", "100,000 items of a fan-out, all queued at once, then cancelled", "200")
def _(target: Target) -> str:
    source = (
        "name: flood\ninput: {list: {}}\nworkflow:\n"
        f"- {{step: a, type: python, task: 'm:f', queue: {QUEUE}, for_each: '{{{{ input.list }}}}', parallelism: 1000000}}\n"
    )
    id_ = target.submit(source, input={"list": list(range(100_000))})
    assert target.post(f"/v1/executions/{id_}/cancel", {}) == "200"
    _look_at(target, id_)
    return target.post(f"/v1/executions/{id_}/retry", {"new": True})


@attack("view", "3,000 items of a fan-out that have failed twice each, explained", "200")
def _(target: Target) -> str:
    source = (
        "name: tried\ninput: {list: {}}\nworkflow:\n"
        f"- {{step: a, type: python, task: 'm:f', queue: {QUEUE}, for_each: '{{{{ input.list }}}}', parallelism: 3000, "
        "tolerate: 100%, retry: {max_attempts: 2, initial_delay: 1ms, jitter: 0}}\n"
    )
    id_ = target.submit(source, input={"list": list(range(3_000))})
    for _ in range(60):
        given = target.lease_many(id_, 100)
        failed = {"status": "failed", "facts": {"exception": "E", "message": "m" * 1000}}
        answer = target.http.post("/v1/worker/report", json=[report_on(one, failed) for one in given])
        assert answer.status_code == 200
    _look_at(target, id_)
    return target.post(f"/v1/executions/{id_}/retry", {"new": True})


@attack("view", "100 readers of one long history", "200")
def _(target: Target) -> str:
    id_ = target.submit(PLAIN)
    for n in range(20):
        target.http.post(
            f"/v1/executions/{id_}/signals", json={"name": "go", "data": ["x"] * 20_000, "key": str(n)}
        )
    found: set[int] = set()

    def read() -> None:
        found.add(target.http.get(f"/v1/executions/{id_}").status_code)

    threads = [threading.Thread(target=read) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return " ".join(map(str, sorted(found)))


# -- operators: filters, bulk jobs, dead letters, actions, figures

RETRIED = "retry: {max_attempts: 2, initial_delay: 1h, max_delay: 1h, jitter: 0}"
LONG_PATH = "input." + ".".join(f"part{n}" for n in range(20))
FILTERS = {
    "4,000 letters without a term": "x" * 4_000,
    "500 texts that are nowhere": "text=" + ",".join(f"no{n:03d}" for n in range(500)),
    "a text of wildcards": 'text="' + "%_" * 1_900 + '"',
    "40 paths of 20 parts": " ".join(f"{LONG_PATH[:90]}={n}" for n in range(38)),
    "50 reasons, each looked up in the log": " ".join(f"-reason=no{n}*" for n in range(50)),
    "50 terms that each look at all work items": " ".join(
        f"{'-' if n % 2 else ''}{('queue', 'worker', 'label', 'step', 'class', 'workflow')[n % 6]}=no{n}*"
        for n in range(50)
    ),
    "a thousand quotes": '"' * 4_000,
}


def _filter(name: str, text: str) -> None:
    @attack("filter", name, "200", "400")
    def _(target: Target) -> str:
        listed = str(target.http.get("/v1/executions", params={"filter": text, "limit": 500}).status_code)
        previewed = target.post(
            "/v1/bulk", {"action": "pause", "filter": f"key=nobody* {text}"[:4_000], "reason": "x"}
        )
        assert previewed in ("201", "400", "404"), previewed
        return listed


for _name, _text in FILTERS.items():
    _filter(_name, _text)


@attack("filter", "1,100 saved filters of 4,000 characters", "409")
def _(target: Target) -> str:
    text = "text=" + "x" * 3_990
    found = [target.http.put(f"/v1/filters/saved{n}", json={"filter": text}) for n in range(1_100)]
    assert len(target.http.get("/v1/filters").content) < 5 * MB
    target.http.delete("/v1/filters/saved-that-nobody-knows")
    return str(found[-1].status_code)


@attack("filter", "a filter that names 50 saved ones of 4,000 characters", "400")
def _(target: Target) -> str:
    for n in range(50):
        target.http.put(f"/v1/filters/saved{n}", json={"filter": "text=" + "x" * 3_990})
    text = " ".join(f"@saved{n}" for n in range(50))
    return str(target.http.get("/v1/executions", params={"filter": text}).status_code)


@attack("filter", "30 expensive questions at once, and one of another caller", "200")
def _(target: Target) -> str:
    _many(target, 100)
    asked = [("/v1/executions", {"filter": text, "limit": "500"}) for text in FILTERS.values()] * 2
    asked += [("/v1/stats", {"since": "2000-01-01T00:00:00Z"}), ("/v1/verify", {}), ("/v1/overview", {})] * 5
    with _asking(target, asked):
        return str(target.strange.get("/readyz").status_code)


@attack("bulk", "30 previews of all executions", "201")
def _(target: Target) -> str:
    _many(target, 1_000)
    body = {"action": "pause", "filter": "workflow=plain", "reason": "r" * 1_000, "rate": 0.001}
    found = {target.post("/v1/bulk", body) for _ in range(30)}
    assert len(target.http.get("/v1/bulk", params={"limit": 500}).content) < 5 * MB
    return " ".join(sorted(found))


@attack("bulk", "20 jobs at once, on the same executions", "200")
def _(target: Target) -> str:
    _many(target, 300)
    found = set()
    for n in range(20):
        body = {"action": ("pause", "resume")[n % 2], "filter": "workflow=plain since=1h", "reason": "again"}
        job = target.http.post("/v1/bulk", json=body).json()["id"]
        found.add(target.post(f"/v1/bulk/{job}/start", {}))
        target.post(f"/v1/bulk/{job}/stop", {"reason": "enough"})
    return " ".join(sorted(found))


@attack("action", "a result of 15 MB for a step", "200")
def _(target: Target) -> str:
    id_ = target.submit(PLAIN)
    body = {"step": "a", "result": ["x" * 100] * 145_000, "reason": "known"}
    return target.post(f"/v1/executions/{id_}/complete", body)


@attack("action", "a result of 1 MB for each of 1,000 items", "400")
def _(target: Target) -> str:
    id_ = _spread(target, 1_000)
    body = {"step": "a", "result": "x" * MB, "reason": "known"}
    return target.post(f"/v1/executions/{id_}/complete", body)


@attack("action", "a policy of 1 MB", "400", "422")
def _(target: Target) -> str:
    rules = [{"when": "attempt > 1", "retry": True}] * 20_000
    return target.post(
        f"/v1/executions/{_failed(target, 1)}/reschedule", {"step": "a", "policy": {"rules": rules}}
    )


@attack("action", "the largest policy for 2,000 items", "200", "400")
def _(target: Target) -> str:
    rules = [
        {"when": f"'x{n}' in data.text or attempt > {n}", "retry": True, "max_attempts": 5} for n in range(90)
    ]
    id_ = _failed(target, 2_000)
    return target.post(
        f"/v1/executions/{id_}/reschedule", {"step": "a", "policy": {"rules": rules, "max_attempts": 9}}
    )


@attack("action", "10,000 items failed, reset and resolved by hand", "200")
def _(target: Target) -> str:
    id_ = _spread(target, 10_000, tolerate="0")
    assert target.post(f"/v1/executions/{id_}/fail", {"step": "a", "reason": "no"}) == "200"
    _look_at(target, id_)
    assert target.post(f"/v1/executions/{id_}/reset", {"step": "a", "reason": "again"}) == "200"
    return target.post(f"/v1/executions/{id_}/resolve", {"step": "a", "reason": "done"})


@attack("action", "200 repeats of an execution by Attune's route", "409")
def _(target: Target) -> str:
    target.post("/v1/workflows", {"source": PLAIN})
    id_ = target.submit(PLAIN)
    body = {
        "action_ref": "plain",
        "parameters": {"x": 1},
        "config": {"retry_of": id_, "retry_count": -(10**9)},
    }
    found = {target.post("/api/v1/executions", body) for _ in range(200)}
    return " ".join(sorted(found))


@attack("figures", "10,000 queues, looked at in every way", "200")
def _(target: Target) -> str:
    steps = "\n".join(f"- {{step: s{n}, type: python, task: 'm:f', queue: q{n}}}" for n in range(10_000))
    id_ = target.submit(f"name: queues\nworkflow:\n{steps}\n")
    paths = (
        "/metrics",
        "/v1/queues",
        "/v1/overview",
        "/v1/queues/q77/diagnosis",
        "/v1/queues/q7x/diagnosis",
        "/metrics",
    )
    found = {target.http.get(path).status_code for path in paths} - {404}
    target.post(f"/v1/executions/{id_}/cancel", {})
    return " ".join(map(str, sorted(found)))


@attack("figures", "150 failures of 190 KB each, in one list", "200")
def _(target: Target) -> str:
    ids = _many(target, 150)
    facts = {
        "exception": "E",
        "traceback": "t" * 64_000,
        "stderr_tail": "s" * 64_000,
        "data": {"x": "d" * 60_000},
    }
    for id_ in ids:
        assert target.report(target.lease(id_), {"status": "failed", "facts": facts}) == "applied"
    found = target.http.get("/v1/executions", params={"status": "failed", "limit": 500})
    assert len(found.content) < 20 * MB
    return str(found.status_code)


@attack("figures", "an item that failed 300 times, as a dead letter and explained", "200")
def _(target: Target) -> str:
    policy = "retry: {max_attempts: 300, initial_delay: 0s, jitter: 0}"
    id_ = target.submit(f"name: often\nworkflow:\n- {STEP[:-1]}, {policy}}}\n")
    facts = {"exception": "ConnectionError", "failure_class": "transient", "message": "m" * 3_000}
    for _ in range(300):
        assert target.report(target.lease(id_), {"status": "failed", "facts": facts}) == "applied"
    _look_at(target, id_)
    [letter] = target.http.get("/v1/dead-letters", params={"execution": id_, "all": True}).json()
    return str(target.http.get(f"/v1/dead-letters/{letter['id']}").status_code)


@attack("figures", "3,000 dead letters, listed, grouped and discarded", "200")
def _(target: Target) -> str:
    id_ = _failed(target, 3_000, "retry: {max_attempts: 1}")
    for path in ("", "/groups"):
        assert (
            target.http.get(f"/v1/dead-letters{path}", params={"execution": id_, "limit": 500}).status_code
            == 200
        )
    return target.post("/v1/dead-letters/discard", {"filter": {"execution": id_}, "note": "n" * 1_000})


def _many(target: Target, count: int) -> list[int]:
    """Submits executions that nobody serves. Returns their ids."""
    answer = target.http.post("/v1/executions/batch", json={"submissions": [{"source": PLAIN}] * count})
    assert answer.status_code == 200, answer.text[:500]
    return [one["id"] for one in answer.json()]


def _spread(target: Target, count: int, policy: str = RETRIED, tolerate: str = "100%") -> int:
    """Submits a fan-out whose items may all run at once."""
    source = (
        f"name: spread-out\ninput: {{list: {{}}}}\nworkflow:\n- {STEP[:-1]}, for_each: '{{{{ input.list }}}}', "
        f"parallelism: {count}, tolerate: {tolerate}, {policy}}}\n"
    )
    return target.submit(source, input={"list": list(range(count))})


def _failed(target: Target, count: int, policy: str = RETRIED) -> int:
    """Submits a fan-out, and reports that each of its items has failed."""
    id_, left = _spread(target, count, policy), count
    failed = {
        "status": "failed",
        "facts": {"exception": "ConnectionError", "failure_class": "transient", "message": "m" * 1_000},
    }
    while left:
        given = target.lease_many(id_, min(left, 200))
        answer = target.http.post("/v1/worker/report", json=[report_on(one, failed) for one in given])
        assert answer.status_code == 200, answer.text[:500]
        left -= len(given)
    return id_


@contextmanager
def _asking(target: Target, asked: list[tuple[str, dict[str, str]]]) -> Iterator[None]:
    """Asks these questions over as many connections, until all are answered."""

    def ask(path: str, params: dict[str, str]) -> None:
        answer = target.http.get(path, params=params)
        assert answer.status_code in (200, 400, 503), answer.text[:500]

    threads = [threading.Thread(target=ask, args=one) for one in asked]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.join()
