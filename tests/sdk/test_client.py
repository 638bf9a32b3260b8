"""The client against a real HTTP server: the requests it makes, the answers it reads, the errors it raises."""

from __future__ import annotations

import asyncio
import inspect
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tenax.errors import (
    Conflict,
    InvalidDefinition,
    NotFound,
    SchemaOutdated,
    TaskFailed,
    TenaxError,
    Unreachable,
    UsageError,
)
from tenax.model.wire import Submission, Submitted
from tenax.sdk.client import Client
from tenax.sdk.sync_client import SyncClient


class Api:
    """Answers in turn with what it was given, and keeps what it was asked."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, Any]] = []
        self.asked: list[tuple[str, str, Any]] = []
        self.is_tenax = True
        api = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                api.asked.append((self.command, self.path, json.loads(body) if body else None))
                api.token = self.headers.get("authorization")
                status, content = api.answers.pop(0)
                text = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(text)))
                if api.is_tenax:
                    self.send_header("tenax-version", "0.1.0")
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = answer  # noqa: N815 - the names that http.server calls

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def api():
    made = Api()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def client(api):
    with SyncClient(api.url + "/", "t0ken") as made:
        yield made


@pytest.mark.parametrize(
    ("call", "asked"),
    [
        (lambda c: c.get(5), ("GET", "/v1/executions/5", None)),
        (
            lambda c: c.list(status="failed", limit=3),
            ("GET", "/v1/executions?status=failed&limit=3", None),
        ),
        (lambda c: c.list(top=True), ("GET", "/v1/executions?top=true", None)),
        (lambda c: c.events(5, after=2), ("GET", "/v1/executions/5/events?after=2", None)),
        (
            lambda c: c.news(5, cursor="1:2:", wait=1.5),
            ("GET", "/v1/executions/5/news?cursor=1%3A2%3A&wait=1.5", None),
        ),
        (
            lambda c: c.explain(5, step="a b", attempt=2),
            ("GET", "/v1/executions/5/explain?step=a%20b&attempt=2", None),
        ),
        (lambda c: c.cancel(5, reason="why"), ("POST", "/v1/executions/5/cancel", {"reason": "why"})),
        (
            lambda c: c.retry(5, new=True),
            (
                "POST",
                "/v1/executions/5/retry",
                {"step": None, "item": None, "new": True, "input": None, "reason": None},
            ),
        ),
        (lambda c: c.explain(5, item=0), ("GET", "/v1/executions/5/explain?item=0", None)),
        (lambda c: c.pause(5, reason="why"), ("POST", "/v1/executions/5/pause", {"reason": "why"})),
        (lambda c: c.resume(5), ("POST", "/v1/executions/5/resume", {"reason": None})),
        (
            lambda c: c.signal(5, "paid", data={"sum": 3}, key="k"),
            ("POST", "/v1/executions/5/signals", {"name": "paid", "data": {"sum": 3}, "key": "k"}),
        ),
        (
            lambda c: c.approve(5, "check", item=2, reason="fine"),
            ("POST", "/v1/executions/5/steps/check/approve", {"item": 2, "reason": "fine"}),
        ),
        (
            lambda c: c.reject(5, "a/b"),
            ("POST", "/v1/executions/5/steps/a%2Fb/reject", {"item": None, "reason": None}),
        ),
        (
            lambda c: c.items(5, "load", status="failed", after=-1, limit=3),
            ("GET", "/v1/executions/5/steps/load/items?status=failed&after=-1&limit=3", None),
        ),
        (lambda c: c.tree(5), ("GET", "/v1/executions/5/tree", None)),
        (
            lambda c: c.store_workflow("name: x", filename="x.yaml", files={"y.yaml": "name: y"}),
            (
                "POST",
                "/v1/workflows",
                {"source": "name: x", "filename": "x.yaml", "files": {"y.yaml": "name: y"}},
            ),
        ),
        (lambda c: c.workflows(), ("GET", "/v1/workflows", None)),
        (lambda c: c.workflows("x"), ("GET", "/v1/workflows?name=x", None)),
        (lambda c: c.list_tokens(), ("GET", "/v1/tokens", None)),
        (lambda c: c.create_token("ci", "viewer"), ("POST", "/v1/tokens", {"name": "ci", "role": "viewer"})),
        (lambda c: c.revoke_token(7), ("POST", "/v1/tokens/7/revoke", None)),
    ],
)
def test_requests(api, client, call, asked):
    api.answers = [(200, {"it": "is"})]
    assert call(client) == {"it": "is"}
    method, path, body = api.asked[0]
    assert (method, path.replace("+", "%20"), body) == asked
    assert api.token == "Bearer t0ken"


def test_submit_one_and_many(api, client):
    api.answers = [
        (200, {"id": 1, "created": True}),
        (200, [{"id": 1, "created": False}, {"id": 2, "created": True}]),
    ]
    assert client.submit(Submission(workflow="w", input={"a": 1}, key="k")) == Submitted(1, created=True)
    many = client.submit_many([Submission(source="x"), Submission(source="y", files={"z.yaml": "z"})])
    assert many == [Submitted(1, created=False), Submitted(2, created=True)]
    (_, one_path, one), (_, many_path, both) = api.asked
    assert (one_path, many_path) == ("/v1/executions", "/v1/executions/batch")
    assert (one["workflow"], one["input"], one["key"]) == ("w", {"a": 1}, "k")
    assert [(s["source"], s["files"]) for s in both["submissions"]] == [("x", {}), ("y", {"z.yaml": "z"})]


TOP = "name: top\nworkflow: [{step: a, type: workflow, file: parts/leaf.yaml}]\n"
LEAF = "name: leaf\nworkflow: [{step: a, type: process, command: 'true'}]\n"


def test_a_file_is_submitted_with_those_of_its_children(api, client, tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "top.yaml").write_text(TOP)
    (tmp_path / "parts" / "leaf.yaml").write_text(LEAF)
    api.answers = [(200, {"id": 1, "created": True})]
    assert client.submit_file(tmp_path / "top.yaml", input={"a": 1}, key="k") == Submitted(1, created=True)
    [(method, path, body)] = api.asked
    assert (method, path, body["source"], body["files"]) == (
        "POST",
        "/v1/executions",
        TOP,
        {"parts/leaf.yaml": LEAF},
    )
    assert (body["base_dir"], body["filename"]) == (str(tmp_path), str(tmp_path / "top.yaml"))
    assert (body["input"], body["key"]) == ({"a": 1}, "k")


def test_a_file_that_cannot_be_gathered_is_not_submitted(api, client, tmp_path):
    (tmp_path / "top.yaml").write_text(TOP)
    with pytest.raises(InvalidDefinition, match=r"parts/leaf\.yaml: there is no such file"):
        client.submit_file(tmp_path / "top.yaml")
    with pytest.raises(UsageError, match=r"none\.yaml: there is no such file"):
        client.submit_file(str(tmp_path / "none.yaml"))
    assert api.asked == []


def test_wait_follows_the_news_until_it_is_finished(api, client):
    api.answers = [
        (200, {"status": "running"}),
        (200, {"events": [{"seq": 3}, {"seq": 4}], "cursor": "4:4:"}),
        (200, {"status": "running"}),
        (200, {"events": [], "cursor": "5:5:"}),
        (200, {"status": "completed", "id": 5}),
    ]
    assert client.wait(5)["status"] == "completed"
    assert [path.partition("?")[2] for _, path, _ in api.asked if "/news" in path] == [
        "wait=20.0",
        "cursor=4%3A4%3A&wait=20.0",
    ]


def test_wait_warns_once_of_a_step_that_is_held(api, client, caplog):
    held = {"id": 5, "status": "running", "steps": {"a": {"held": {"reason": "it kills workers"}}, "b": {}}}
    news = (200, {"events": [], "cursor": "4:4:"})
    api.answers = [(200, held), news, (200, held), news, (200, {"status": "completed", "id": 5})]
    client.wait(5)
    [warning] = [record.getMessage() for record in caplog.records if record.name == "tenax.client"]
    assert "step a is held (it kills workers); release it: `tenax retry 5`" in warning


@pytest.mark.parametrize(("status", "well"), [(200, True), (503, False)])
def test_health(api, client, status, well):
    api.answers = [(status, {}), (status, {})]
    assert (client.healthy(), client.ready()) == (well, well)
    assert [path for _, path, _ in api.asked] == ["/healthz", "/readyz"]


@pytest.mark.parametrize(
    ("status", "body", "kind", "message"),
    [
        (404, {"type": "tenax:not_found", "title": "no execution 5"}, NotFound, "no execution 5"),
        (409, {"type": "tenax:conflict", "title": "finished"}, Conflict, "finished"),
        (503, {"type": "tenax:schema_outdated", "title": "old"}, SchemaOutdated, "old"),
        (500, {"type": "tenax:error", "title": "oh"}, TenaxError, "oh"),
        (418, b"<html>", TenaxError, "418"),
        (404, b"<html>", NotFound, "404"),
        (422, {"type": "about:blank", "title": "x"}, UsageError, "422"),
        (200, b"<html>", TenaxError, "is not a Tenax server"),
    ],
)
def test_problems_are_raised_as_the_errors_they_were(api, client, status, body, kind, message):
    api.answers = [(status, body)]
    with pytest.raises(kind, match=message) as raised:
        client.get(5)
    assert type(raised.value) is kind


@pytest.mark.parametrize(
    ("status", "body"), [(200, {"id": 5}), (200, []), (302, b""), (404, {"detail": "no"})]
)
def test_another_service_at_that_address(api, client, status, body):
    api.is_tenax, api.answers = False, [(status, body)] * 3
    for call in (lambda: client.get(5), client.list, lambda: client.cancel(5)):
        with pytest.raises(
            TenaxError, match=f"^the program that answers at {api.url} is not a Tenax server$"
        ):
            call()


def test_a_proxy_in_between_may_have_no_server_behind_it_for_now(api, client):
    api.is_tenax, api.answers = False, [(502, b"<html>")]
    with pytest.raises(Unreachable, match="502"):
        client.get(5)


def test_another_service_is_not_ready(api, client):
    api.is_tenax, api.answers = False, [(200, {})] * 2
    assert (client.healthy(), client.ready()) == (False, False)


def test_an_invalid_definition_keeps_its_findings(api, client):
    finding = {"file": "f.yaml", "line": 3, "column": 1, "path": "steps[0].retry", "message": "unknown key"}
    api.answers = [(422, {"type": "tenax:invalid_definition", "title": "one error", "errors": [finding]})]
    with pytest.raises(InvalidDefinition) as raised:
        client.submit(Submission(source="x"))
    assert [f.as_dict() for f in raised.value.findings] == [finding]


def test_nobody_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with SyncClient(url) as client, pytest.raises(Unreachable, match=f"{url}: connection refused") as raised:
        client.get(1)
    assert "TENAX_SERVER" in raised.value.remedy


def test_the_async_client(api):
    async def go():
        async with Client(api.url) as client:
            return await client.get(5)

    api.answers = [(200, {"id": 5})]
    assert asyncio.run(go()) == {"id": 5}


def test_the_sync_client_has_every_method_of_the_async_one():
    methods = {n for n, m in inspect.getmembers(Client, inspect.iscoroutinefunction) if not n.startswith("_")}
    assert methods <= set(dir(SyncClient))


def test_the_environment_names_the_server_and_the_token(api, monkeypatch):
    for name in ("TENAX_SERVER", "TENAX_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="no server is named"):
        Client()
    monkeypatch.setenv("TENAX_SERVER", api.url)
    monkeypatch.setenv("TENAX_TOKEN", "of-the-environment")
    for token in (None, "given"):
        api.answers = [(200, {"id": 7})]
        with SyncClient(token=token) as client:
            assert client.get(7) == {"id": 7}
        assert api.token == f"Bearer {token or 'of-the-environment'}"


ENDED = {"id": 7, "workflow": "flow", "steps": {}, "result": None}


def test_a_result_is_returned_and_a_failure_is_raised(api, client):
    api.answers = [(200, {**ENDED, "status": "completed", "result": {"run": 3}})]
    assert client.result(7) == {"run": 3}
    failure = {"class": "transient", "reason": "http_503", "message": "away", "attempts": 2}
    api.answers = [
        (200, {**ENDED, "status": "failed", "failure": failure}),
        (200, [{"text": "first"}, {"text": "last"}]),
    ]
    with pytest.raises(
        TaskFailed, match=r"execution 7 of flow failed after 2 attempts: transient \(http_503\)"
    ) as caught:
        client.result(7)
    told = caught.value
    assert (told.execution_id, told.failure_class, told.reason) == (7, "transient", "http_503")
    assert (told.attempts, told.explanation) == (2, "last")
    api.answers = [(200, {**ENDED, "status": "cancelled", "failure": None})]
    with pytest.raises(TaskFailed, match="execution 7 of flow was cancelled"):
        client.result(7)


def test_a_wait_can_be_limited(api, client):
    running = {**ENDED, "status": "running"}
    api.answers = [
        (200, running if place % 2 == 0 else {"events": [], "cursor": "c"}) for place in range(10_000)
    ]
    with pytest.raises(TimeoutError, match=r"execution 7 is not finished after 0\.05 s; it goes on"):
        client.wait(7, timeout=0.05)


def test_a_closed_client_says_so(api):
    client = SyncClient(api.url)
    client.close()
    client.close()
    with pytest.raises(UsageError, match="closed"):
        client.get(1)


def test_proxies_of_the_environment_are_not_used(api, monkeypatch):
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    api.answers = [(200, {"it": "is"})]
    with SyncClient(api.url) as client:
        assert client.get(5) == {"it": "is"}
