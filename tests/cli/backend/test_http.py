"""Tests commands against a server: they give the same answers as on the database, within the rights of the token."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

ONE_STEP = """
name: one
workflow:
  - {step: only, type: process, command: "true", retry: {max_attempts: 3, initial_delay: 1h, jitter: 0}}
"""


@pytest.fixture
def both(command, server, database_url, tmp_path):
    """A command against the server, and straight on the database."""
    (tmp_path / "one.yaml").write_text(ONE_STEP)
    (tmp_path / "wrong.yaml").write_text(ONE_STEP.replace("command", "comand"))
    return (
        lambda *arguments, **more: command(*arguments, TENAX_SERVER=server, **more),
        lambda *arguments, **more: command(*arguments, TENAX_DATABASE_URL=database_url, **more),
    )


def test_both_ways_give_the_same(both):
    over_http, direct = both
    submitted = over_http("submit", "one.yaml", "--key", "k", "--json")
    assert (submitted.code, submitted.json) == (0, {"id": 1, "created": True})
    assert direct("submit", "one.yaml", "--key", "k", "--json").json == {"id": 1, "created": False}
    for arguments in (("events", "1"), ("list",)):
        assert over_http(*arguments, "--json").json == direct(*arguments, "--json").json
    explained = [way("explain", "1", "--json").json for way in both]
    assert [body["diagnosis"]["doors"][0]["door"] for body in explained] == ["worker", "worker"]
    assert explained[0]["decisions"] == explained[1]["decisions"]
    shown = [way("show", "1", "--json").json for way in both]
    assert [body.pop("now") < "9999" for body in shown] == [True, True]
    assert shown[0] == shown[1]
    cancelled = over_http("cancel", "1", "--reason", "enough", "--json")
    assert (cancelled.code, cancelled.json) == (0, {"id": 1, "status": "cancelled"})
    again = [way("retry", "1", "--new", "--json").json for way in both]
    assert [{**body, "id": 0} for body in again] == [{"id": 0, "created": True, "retry_of": 1}] * 2
    running = over_http("list", "--status", "running", "--since", "1h", "--json").json
    assert [row["id"] for row in running] == [body["id"] for body in reversed(again)]


def test_hints_repeat_the_flags_that_were_given(both, command, server):
    over_http, _ = both
    submitted = command("submit", "one.yaml", "--server", server)
    assert (
        submitted.out == f"execution 1 is submitted\n  follow it: tenax show 1 --follow --server {server}\n"
    )
    assert command("pause", "1", "--server", server).out.endswith(
        f"resume it: tenax resume 1 --server {server}\n"
    )
    assert f"  resume it: tenax resume 1 --server {server}\n" in command("show", "1", "--server", server).out
    said = over_http("submit", "one.yaml").out
    assert said.endswith("tenax show 2 --follow\n"), (
        "what the environment says holds for the next command too"
    )


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("show", "4711"), "tenax: there is no execution 4711\n"),
        (("submit", "wrong.yaml"), "wrong.yaml:4:"),
        (("retry", "1"), "has no step that waits for a retry"),
    ],
)
def test_refusals_over_http_read_the_same(both, arguments, part):
    over_http, direct = both
    direct("submit", "one.yaml")
    first, second = over_http(*arguments), direct(*arguments)
    assert (first.code, first.out) == (second.code, second.out) == (2, "")
    assert first.err == second.err
    assert part in first.err


def test_a_token_that_is_refused(both, tmp_path):
    over_http, direct = both
    viewer = direct("token", "create", "someone", "--role", "viewer").out.strip()
    assert over_http("list").code == 0, "the user who started the server has a token"
    nobody = over_http("list", TENAX_HOME=str(tmp_path / "elsewhere"))
    assert (nobody.code, nobody.out) == (3, "")
    assert nobody.err.startswith("tenax: ")
    assert over_http("list", TENAX_TOKEN="tenax_wrong").code == 3
    assert over_http("list", TENAX_TOKEN=viewer).code == 0
    assert over_http("list", "--token", viewer).code == 0
    forbidden = over_http("submit", "one.yaml", TENAX_TOKEN=viewer)
    assert (forbidden.code, forbidden.out) == (3, "")
    assert "Traceback" not in forbidden.err


def test_tokens_over_http(both):
    over_http, direct = both
    [own] = [row["name"] for row in direct("token", "list", "--json").json]
    admin = over_http("token", "create", "boss", "--role", "admin").out.strip()
    made = over_http("token", "create", "ci", "--role", "viewer", "--json", TENAX_TOKEN=admin)
    assert (made.code, made.json["name"], made.json["role"]) == (0, "ci", "viewer")
    listed = over_http("token", "list", "--json", TENAX_TOKEN=admin)
    assert listed.json == direct("token", "list", "--json").json
    refused = over_http("token", "list", TENAX_TOKEN=made.json["token"])
    assert (refused.code, refused.out) == (3, "")
    revoked = over_http("token", "revoke", "ci", TENAX_TOKEN=admin)
    assert revoked.out == f"token {made.json['id']} (ci) is revoked\n"
    left = over_http("token", "list", "--json", TENAX_TOKEN=admin).json
    assert [row["name"] for row in left] == [own, "boss"]
    ways = [way("token", "revoke", "nobody", TENAX_TOKEN=admin) for way in both]
    assert (ways[0].code, ways[0].err) == (ways[1].code, ways[1].err) == (2, ways[1].err)


@pytest.fixture
def stranger() -> Iterator[str]:
    """A service that is not Tenax and says yes to everything."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(200)
            self.send_header("content-length", "15")
            self.end_headers()
            self.wfile.write(b'{"hello":"you"}')

        do_GET = do_POST = answer  # noqa: N815 - the names that http.server calls

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.mark.parametrize(
    "arguments",
    [("list",), ("show", "1"), ("show", "1", "--follow"), ("events", "1"), ("explain", "1"), ("cancel", "1"),
     ("retry", "1"), ("pause", "1"), ("resume", "1"), ("signal", "1", "x"), ("approve", "1", "x"), ("reject", "1", "x"),
     ("items", "1", "x"), ("store", "one.yaml"), ("workflows",), ("submit", "one.yaml"), ("run", "one.yaml"), ("run", "--resume", "1"),
     ("workers",), ("workers", "--watch"), ("workers", "show", "x"), ("workers", "pause", "x"), ("workers", "drain", "x"),
     ("workers", "resume", "x"), ("queues",), ("queues", "limit", "x", "--rate", "1/s"),
     ("token", "list"), ("token", "create", "x", "--role", "viewer"), ("token", "revoke", "1")],
)  # fmt: skip
def test_a_server_that_is_not_tenax(command, stranger, tmp_path, arguments):
    (tmp_path / "one.yaml").write_text(ONE_STEP)
    ended = command(*arguments, TENAX_SERVER=stranger)
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.startswith(f"tenax: the program that answers at {stranger} is not a Tenax server\n")


@pytest.mark.parametrize("arguments", [("list",), ("run", "one.yaml"), ("token", "list"), ("worker",)])
def test_the_working_folder_does_not_choose_who_gets_the_token(command, tmp_path, arguments):
    (tmp_path / "one.yaml").write_text(ONE_STEP)
    (tmp_path / "tenax.toml").write_text('server = "http://evil.invalid"')
    ended = command(*arguments, TENAX_TOKEN="t0ken")
    assert (ended.code, ended.out) == (2, "")
    assert "does not get the token that was given elsewhere (TENAX_TOKEN=...)" in ended.err
    assert "t0ken" not in ended.err
    assert command("list", TENAX_TOKEN="t0ken", TENAX_SERVER="http://mine.invalid").code == 3


def test_follow_ends_when_the_execution_does(both):
    over_http, direct = both
    direct("submit", "one.yaml")
    cancelling = threading.Thread(target=lambda: over_http("cancel", "1"))
    cancelling.start()
    followed = direct("show", "1", "--follow")
    cancelling.join()
    assert followed.code == 1
    assert "execution 1 of one: cancelled" in followed.out
