"""Tests the process of a server: where it may listen, how it stops, its waiting requests, and a database that goes away."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import fastapi.routing
import httpx2
import pytest
import structlog
from starlette.requests import Request
from support.waiting import eventually
from support.worker_requests import one_by_one

from tenax.errors import SchemaOutdated, Unreachable, UsageError
from tenax.server.app import serve
from tenax.server.middleware import EntryMiddleware
from tenax.server.protocol.listen import bound_socket, callback_base
from tenax.settings import Settings
from tenax.web.long_poll import LongPolls

SOURCE = "name: x\nworkflow: [{step: a, type: python, task: t}]\n"
PROGRAM = """
import sys
from tenax.server.app import run
from tenax.settings import Settings
run(Settings(database_url=sys.argv[1], port=0, open=True), ready=lambda url: print(url, flush=True))
"""


def lease_body(**more: Any) -> dict[str, Any]:
    return {"worker": "w", "grant": str(uuid4()), "slots": 5, "runtimes": ["python"], "wait": 60} | more


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_an_open_server_is_refused_beyond_loopback(start, host: str) -> None:
    with pytest.raises(UsageError, match="there is no token yet") as raised:
        start(host=host)
    assert "leave out --open" in raised.value.remedy


def test_a_port_in_use_is_said_in_plain_words(start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(Unreachable, match=f"port {port} on 127.0.0.1 is in use") as raised:
            start(port=port)
    assert raised.value.exit_code == 3


@pytest.mark.parametrize("host", ["no.such.host.invalid", "203.0.113.7"])
def test_an_address_that_is_not_ours_is_said_in_plain_words(start, host: str) -> None:
    with pytest.raises((UsageError, Unreachable), match="no address of this machine"):
        start(host=host)


def test_an_empty_database_is_refused(empty_database_url: str) -> None:
    with pytest.raises(SchemaOutdated):
        asyncio.run(serve(Settings(database_url=empty_database_url, port=0)))


def test_readiness_follows_the_schema(server) -> None:
    with server.http() as http:
        assert http.get("/readyz").json() == {"status": "ready"}
        server.execute("update tenax.schema_migration set version = version + 1000")
        answer = http.get("/readyz")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert answer.json()["type"] == "tenax:schema_outdated"
        assert http.get("/healthz").json() == {"status": "ok"}


def test_a_database_that_goes_away_is_a_503_and_comes_back(server, embedded_server: str) -> None:
    name = urlsplit(server.database_url).path.lstrip("/")

    elsewhere = replace(server, database_url=embedded_server)

    def accept(yes: bool) -> None:
        elsewhere.execute(f"alter database {name} allow_connections {yes}")
        elsewhere.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", name)

    with server.http() as http:
        accept(False)
        try:
            for path in ("/v1/executions", "/readyz"):
                answer = http.get(path)
                assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
                # A session that was cut off, or one that cannot be opened anew.
                assert answer.json()["type"] in ("tenax:database_away", "tenax:unreachable")
        finally:
            accept(True)
        eventually(lambda: http.get("/readyz").status_code == 200)
        assert http.get("/v1/executions").json() == []


def test_what_nobody_foresaw_is_a_500_with_a_number_that_the_log_has(capfd, server) -> None:
    # capfd stands before server: the server must end before the capture does.
    server.execute("drop table tenax.token")
    with server.http() as http:
        answer = http.get("/v1/tokens")
    assert answer.status_code == 500
    title = answer.json()["title"]
    assert "incident" in title
    assert "tenax.token" not in answer.text
    incident = title.partition("incident ")[2].strip(")")
    logged = "".join(capfd.readouterr())
    assert incident in logged
    assert "UndefinedTableError" in logged


@pytest.mark.parametrize("error", [RuntimeError("oh"), Unreachable("the database is gone")])
@pytest.mark.parametrize("more", ["", "/more"])
def test_a_callback_that_fails_leaves_no_receipt_in_the_log(error: Exception, more: str) -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise error

    async def nothing(*_: Any) -> Any:
        return {}

    path = f"/v1/callbacks/5/6/1/c0ffee{more}"
    scope = {"type": "http", "method": "POST", "path": path, "headers": []}
    authenticator: Any = None  # it has no say in what is public
    with structlog.testing.capture_logs() as logs:
        asyncio.run(EntryMiddleware(broken, authenticator, 1000, 1000, 1000)(scope, nothing, nothing))
    assert [entry["path"] for entry in logs] == ["/v1/callbacks/5/6/1/..."]


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", "http://127.0.0.1:{port}"),
        ("::1", "http://[::1]:{port}"),
        ("0.0.0.0", f"http://{socket.gethostname()}:{{port}}"),
        ("", f"http://{socket.gethostname()}:{{port}}"),
    ],
)
def test_callees_reach_the_server_where_it_listens_or_where_the_settings_say(
    host: str, expected: str
) -> None:
    with bound_socket(host, 0) as listener:
        port = listener.getsockname()[1]
        assert callback_base(listener, Settings()) == expected.format(port=port)
        said = Settings(callback_url="https://tenax.example/hooks")
        assert callback_base(listener, said) == "https://tenax.example/hooks"


def start_process(database_url: str) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, database_url], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    return process, next(line for line in process.stdout if line.startswith("http")).strip()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_answers_those_who_wait_and_ends_the_process(database_url: str, number: int) -> None:
    process, url = start_process(database_url)

    async def go() -> tuple[httpx2.Response, httpx2.Response]:
        async with httpx2.AsyncClient(base_url=url, timeout=30) as http:
            id_ = (await http.post("/v1/executions", json={"source": SOURCE})).json()["id"]
            [given] = (await http.post("/v1/worker/lease", json=lease_body())).json()
            assert given["execution_id"] == [id_]
            known = (await http.get(f"/v1/executions/{id_}/news")).json()["cursor"]
            parked = [
                asyncio.create_task(http.post("/v1/worker/lease", json=lease_body())),
                asyncio.create_task(
                    http.get(f"/v1/executions/{id_}/news", params={"cursor": known, "wait": 30})
                ),
            ]
            await http.get("/v1/executions")
            os.kill(process.pid, number)
            return await parked[0], await parked[1]

    try:
        leased, news = asyncio.run(go())
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
    # 503 where the signal was faster than the request. Had they been left waiting, they would have been cut off.
    assert leased.status_code == 503 or leased.json() == []
    assert news.status_code == 503 or news.json()["events"] == []


def test_work_goes_on_to_others_when_a_waiting_worker_goes_away(server) -> None:
    """A request whose client is gone is granted nothing that others then wait for."""
    with server.http() as http:
        for _ in range(5):
            with pytest.raises(httpx2.ReadTimeout):
                http.post("/v1/worker/lease", json=lease_body(worker="gone"), timeout=0.2)
        ids = {http.post("/v1/executions", json={"source": SOURCE}).json()["id"] for _ in range(3)}
        seen: set[int] = set()

        def all_seen() -> bool:
            answer = http.post("/v1/worker/lease", json=lease_body(worker="here", wait=5))
            seen.update(given["execution_id"] for given in one_by_one(answer.json()))
            return seen == ids

        eventually(all_seen)
        events = [e for id_ in ids for e in http.get(f"/v1/executions/{id_}/events").json()]
    assert {e["data"]["worker"] for e in events if e["type"] == "action_started"} == {"here"}


def test_lost_grants_are_handed_back_uncounted(server) -> None:
    grant = str(uuid4())
    with server.http() as http:
        id_ = http.post("/v1/executions", json={"source": SOURCE}).json()["id"]
        [first] = http.post("/v1/worker/lease", json=lease_body(grant=grant)).json()
        [again] = http.post("/v1/worker/lease", json=lease_body(lost_grants=[grant])).json()
        assert (again["item_id"], again["token"] != first["token"]) == (first["item_id"], True)
        types = [e["type"] for e in http.get(f"/v1/executions/{id_}/events").json()]
    assert types.count("lease_released") == 1
    assert "action_error" not in types


def test_no_request_has_to_wait_until_the_routes_are_worked_out(
    server, monkeypatch: pytest.MonkeyPatch
) -> None:
    worked_out = fastapi.routing.get_dependant
    late: list[Any] = []
    monkeypatch.setattr(
        fastapi.routing, "get_dependant", lambda **route: late.append(route) or worked_out(**route)
    )
    with server.http() as http:
        assert http.get("/v1/executions").json() == []
        assert http.get("/healthz").status_code == 200
    assert late == []


def test_an_open_api_document_is_served(server) -> None:
    with server.http() as http:
        document = json.loads(http.get("/openapi.json").content)
    assert document["info"]["title"] == "Tenax"
    assert document["paths"]["/v1/worker/lease"]["post"]["requestBody"]["required"] is True


def test_that_it_stops_when_it_is_told_to_is_no_failure_to_warn_of() -> None:
    """Workers ask again until it is gone; each of them gets the answer, and the log nothing."""
    long_polls, sent = LongPolls(), list[Any]()
    long_polls.close()

    async def parks(scope: Any, receive: Any, _send: Any) -> None:
        await long_polls.wait(Request(scope, receive), asyncio.sleep(0))

    async def nothing() -> dict[str, Any]:
        return {}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "path": "/healthz", "method": "POST", "headers": []}
    with structlog.testing.capture_logs() as logs:
        asyncio.run(EntryMiddleware(parks, None, 100, 100, 100)(scope, nothing, send))  # type: ignore[arg-type]  # a public path asks no authenticator
    assert sent[0]["status"] == 503
    assert b"the server is stopping" in sent[1]["body"]
    assert logs == []


def test_a_caller_that_goes_away_in_the_middle_of_its_request_is_no_fault_of_ours() -> None:
    async def reads(_scope: Any, receive: Any, _send: Any) -> None:
        await Request({"type": "http"}, receive).body()

    async def gone() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def unsent(_message: Any) -> None:
        raise AssertionError("nobody is there to be answered")

    scope = {"type": "http", "path": "/healthz", "method": "POST", "headers": []}
    with structlog.testing.capture_logs() as logs:
        asyncio.run(EntryMiddleware(reads, None, 100, 100, 100)(scope, gone, unsent))  # type: ignore[arg-type]  # a public path asks no authenticator
    assert [(entry["log_level"], entry["event"]) for entry in logs] == [
        ("info", "a client disconnected in the middle of its request")
    ]
