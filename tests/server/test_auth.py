"""Tests what each role may do, and for how long a token is cached."""

from __future__ import annotations

import asyncio
import re
import socket
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from tenax.credentials.token_file import is_loopback
from tenax.engine.engine import Engine
from tenax.errors import Unauthorized
from tenax.model.wire import PROTOCOL
from tenax.settings import Settings
from tenax.store.connect import Database
from tenax.store.fleet.tokens import ROLES, create_token, revoke_token
from tenax.web.auth import TOKEN_CACHE_SECONDS, Authenticator

EVERYONE, NOBODY_ELSE = set(ROLES), {"admin"}
READERS, OPERATORS, WORKERS = {"admin", "operator", "viewer"}, {"admin", "operator"}, {"admin", "worker"}
SOURCE = "name: x\nworkflow: [{step: a, type: python, task: t}]\n"
CALLBACK = "/v1/callbacks/{execution_id}/{item_id}/{attempt}/{receipt}"

# method, path, body, who may
ROUTES: list[tuple[str, str, Any, set[str]]] = [
    ("GET", "/healthz", None, EVERYONE),
    ("GET", "/readyz", None, EVERYONE),
    ("GET", "/v1/version", None, READERS),
    ("GET", "/openapi.json", None, READERS),
    ("GET", "/v1/executions", None, READERS),
    ("GET", "/v1/executions/{execution_id}", None, READERS),
    ("GET", "/v1/executions/{execution_id}/events", None, READERS),
    ("GET", "/v1/executions/{execution_id}/news", None, READERS),
    ("GET", "/v1/executions/{execution_id}/explain", None, READERS),
    ("GET", "/v1/executions/{execution_id}/diagnosis", None, READERS),
    ("GET", "/v1/workers/{name}/diagnosis", None, READERS),
    ("GET", "/v1/queues/{queue}/diagnosis", None, READERS),
    ("POST", "/v1/executions", {"source": SOURCE}, OPERATORS),
    ("POST", "/v1/executions/batch", {"submissions": []}, OPERATORS),
    ("POST", "/v1/executions/{execution_id}/cancel", {}, OPERATORS),
    ("POST", "/v1/executions/{execution_id}/retry", {}, OPERATORS),
    ("POST", "/v1/executions/{execution_id}/pause", {}, OPERATORS),
    ("POST", "/v1/executions/{execution_id}/resume", {}, OPERATORS),
    ("POST", "/v1/executions/{execution_id}/signals", {"name": "go"}, OPERATORS),
    ("GET", "/v1/executions/{execution_id}/tree", None, READERS),
    ("GET", "/v1/executions/{execution_id}/steps/{step}/items", None, READERS),
    ("POST", "/v1/executions/{execution_id}/steps/{step}/approve", {}, OPERATORS),
    ("POST", "/v1/executions/{execution_id}/steps/{step}/reject", {}, OPERATORS),
    ("POST", "/v1/workflows", {"source": SOURCE}, OPERATORS),
    ("GET", "/v1/workflows", None, READERS),
    ("POST", "/v1/import", {"source": "max_retries: 1\nrunner_type: shell\nentry_point: a.sh"}, OPERATORS),
    ("POST", "/v1/lint", {"source": SOURCE}, OPERATORS),
    ("GET", "/v1/schedules", None, READERS),
    ("GET", "/v1/schedules/{name}", None, READERS),
    ("GET", "/v1/schedules/{name}/next", None, READERS),
    ("PUT", "/v1/schedules/{name}", {"workflow": "nowhere", "schedule": {"every": "1h"}}, OPERATORS),
    ("POST", "/v1/schedules/{name}/pause", {}, OPERATORS),
    ("POST", "/v1/schedules/{name}/resume", {}, OPERATORS),
    ("POST", "/v1/schedules/{name}/run", {}, OPERATORS),
    ("DELETE", "/v1/schedules/{name}", None, OPERATORS),
    ("POST", CALLBACK, {}, EVERYONE),
    ("GET", "/v1/verify", None, READERS),
    ("GET", "/v1/audit", None, READERS),
    ("GET", "/v1/audit/names", None, READERS),
    ("GET", "/v1/executions/{execution_id}/progress", None, READERS),
    ("GET", "/v1/executions/{execution_id}/logs", None, READERS),
    ("GET", "/v1/workers", None, READERS),
    ("GET", "/v1/workers/{name}", None, READERS),
    ("POST", "/v1/workers/{name}/pause", {}, OPERATORS),
    ("POST", "/v1/workers/{name}/drain", {}, OPERATORS),
    ("POST", "/v1/workers/{name}/resume", {}, OPERATORS),
    ("POST", "/v1/workers/{name}/release", {}, OPERATORS),
    ("GET", "/v1/queues", None, READERS),
    ("PUT", "/v1/queues/{queue}/limits", {"rate": 5}, OPERATORS),
    ("POST", "/v1/queues/{queue}/pause", {}, OPERATORS),
    ("POST", "/v1/queues/{queue}/resume", {}, OPERATORS),
    ("POST", "/v1/workflows/{name}/pause", {}, OPERATORS),
    ("POST", "/v1/workflows/{name}/resume", {}, OPERATORS),
    ("POST", "/v1/worker/register", {"worker": "w", "runtimes": ["python"], "protocol": PROTOCOL}, WORKERS),
    (
        "POST",
        "/v1/worker/lease",
        {"worker": "w", "grant": str(uuid4()), "slots": 1, "runtimes": [], "wait": 0.01},
        WORKERS,
    ),
    ("POST", "/v1/worker/report", [], WORKERS),
    ("POST", "/v1/worker/release", [], WORKERS),
    ("POST", "/v1/worker/heartbeat", {"worker": "w"}, WORKERS),
    ("POST", "/v1/worker/notes", {"worker": "w"}, WORKERS),
    ("POST", "/v1/worker/ended", {"worker": "w", "life": str(uuid4())}, WORKERS),
    ("GET", "/v1/worker/packs/{content}/chunks/{number}", None, WORKERS),
    ("GET", "/v1/packs", None, READERS),
    ("GET", "/v1/packs/{name}", None, READERS),
    ("POST", "/v1/packs", {}, NOBODY_ELSE),
    ("DELETE", "/v1/packs/{name}", None, NOBODY_ELSE),
    ("GET", "/v1/actions", None, READERS),
    ("GET", "/v1/actions/{ref}", None, READERS),
    ("POST", "/v1/actions/{ref}/run", {}, OPERATORS),
    ("GET", "/v1/tokens", None, NOBODY_ELSE),
    ("POST", "/v1/tokens", {"name": "new", "role": "viewer"}, NOBODY_ELSE),
    *(
        ("POST", f"/v1/executions/{{execution_id}}/{action}", {"reason": "why", **more}, OPERATORS)
        for action, more in (
            ("reset", {}),
            ("resolve", {}),
            ("complete", {"result": 1}),
            ("fail", {}),
            ("reschedule", {"policy": {"max_attempts": 5}}),
        )
    ),
    ("POST", "/v1/executions/batch/check", {"submissions": []}, OPERATORS),
    ("POST", "/api/v1/executions", {"action_ref": "nowhere"}, OPERATORS),
    ("GET", "/v1/filters", None, READERS),
    ("PUT", "/v1/filters/{name}", {"filter": "status=failed"}, OPERATORS),
    ("DELETE", "/v1/filters/{name}", None, OPERATORS),
    ("POST", "/v1/bulk", {"action": "cancel", "filter": "status=running", "reason": "why"}, OPERATORS),
    ("GET", "/v1/bulk", None, READERS),
    ("GET", "/v1/bulk/{job_id}", None, READERS),
    ("POST", "/v1/bulk/{job_id}/start", None, OPERATORS),
    ("POST", "/v1/bulk/{job_id}/stop", {}, OPERATORS),
    ("POST", "/v1/bulk/{job_id}/resume", {}, OPERATORS),
    ("GET", "/metrics", None, READERS),
    ("GET", "/v1/alerts", None, READERS),
    ("GET", "/v1/stats", None, READERS),
    ("GET", "/v1/overview", None, READERS),
    ("GET", "/v1/dead-letters", None, READERS),
    ("GET", "/v1/dead-letters/groups", None, READERS),
    ("GET", "/v1/dead-letters/{letter_id}", None, READERS),
    ("POST", "/v1/dead-letters/redrive", {"ids": [1]}, OPERATORS),
    ("POST", "/v1/dead-letters/discard", {"ids": [1], "note": "x"}, OPERATORS),
    ("POST", "/v1/tokens/{token_id}/revoke", None, NOBODY_ELSE),
]
PUBLIC = {"/healthz": 200, "/readyz": 200, CALLBACK: 404}
"""The paths that need no token, and their answers to a stranger."""


def filled(path: str) -> str:
    return re.sub(r"\{\w+\}", "999", path)


def test_each_role_may_do_what_it_is_for_and_nothing_else(server) -> None:
    tokens = {role: server.token(role) for role in ROLES}
    for role, token in tokens.items():
        with server.http(token) as http:
            for method, path, body, who in ROUTES:
                status = http.request(method, filled(path), json=body).status_code
                assert (status not in (401, 403)) == (role in who), (role, method, path, status)
                assert status < 500, (role, method, path, status)


def test_the_table_of_roles_names_every_route(standing) -> None:
    with standing.http() as http:
        described = http.get("/openapi.json").json()["paths"]
    served = {(method.upper(), path) for path, operations in described.items() for method in operations}
    assert served | {("GET", "/openapi.json")} == {(method, path) for method, path, _, _ in ROUTES}


def test_once_there_is_a_token_nothing_goes_without_a_right_one(server) -> None:
    server.token("admin")
    wrong = ["", "Bearer", "Bearer wrong", "Basic YTpi", "Bearer tenax_" + "x" * 5000]
    with server.http() as http:
        for headers in ({}, *({"authorization": value} for value in wrong)):
            for method, path, body, _ in ROUTES:
                answer = http.request(method, filled(path), json=body, headers=headers)
                if path in PUBLIC:
                    assert answer.status_code == PUBLIC[path]
                else:
                    assert answer.status_code == 401, (path, headers)
                    assert answer.headers["www-authenticate"] == "Bearer"
                    assert answer.json()["type"] == "tenax:unauthorized"


@pytest.mark.parametrize(
    "path",
    [
        "/v1/callbacks",
        "/v1/callbacksx/1",
        "/v1/callbacks/../executions",
        "//v1/callbacks/1/1/1/r",
        "/V1/callbacks/",
    ],
)
def test_only_callbacks_themselves_are_open(server, path: str) -> None:
    """Nothing that is not below the prefix is let in for looking like it; what is below it leads nowhere else."""
    server.token("admin")
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode())
        status = int(connection.makefile("rb").readline().split()[1])
    assert status == (404 if path.startswith("/v1/callbacks/") else 401)


def test_a_token_revoked_over_http_is_refused_at_once(server) -> None:
    with server.http(server.token("admin")) as admin:
        made = admin.post("/v1/tokens", json={"name": "ci", "role": "viewer"}).json()
        with server.http(made["token"]) as viewer:
            assert viewer.get("/v1/executions").status_code == 200
            [revoked] = admin.post(f"/v1/tokens/{made['id']}/revoke").json()
            assert revoked["revoked_at"] is not None
            answer = viewer.get("/v1/executions")
            assert (answer.status_code, answer.json()["title"]) == (401, "the token has been revoked")
        listed = admin.get("/v1/tokens")
        assert [(t["name"], t["role"], t["revoked_at"] is None) for t in listed.json()] == [
            ("a-admin", "admin", True),
            ("ci", "viewer", False),
        ]
        assert made["token"] not in listed.text


def test_the_name_of_the_token_is_the_actor(server) -> None:
    with server.http(server.token("operator", "olga")) as http:
        id_ = http.post("/v1/executions", json={"source": SOURCE}).json()["id"]
        http.post(f"/v1/executions/{id_}/cancel", json={"reason": "a test"})
        events = http.get(f"/v1/executions/{id_}/events").json()
    [action] = [e["data"] for e in events if e["type"] == "operator_action"]
    assert action == {"action": "cancel", "actor": "olga", "reason": "a test"}


def test_revoking_the_last_token_opens_nothing_beyond_loopback(start) -> None:
    first = start()
    admin = first.token("admin")
    server = start(host="0.0.0.0")
    address = server.url.replace("0.0.0.0", "127.0.0.1")
    with first.http(admin) as http:
        assert http.get(f"{address}/v1/executions").status_code == 200
        assert http.get(f"{address}/v1/executions", headers={"authorization": ""}).status_code == 401
        http.post("/v1/tokens/1/revoke")
    with first.http() as http:
        assert http.get("/v1/executions").status_code == 200
        assert http.get(f"{address}/v1/executions").status_code == 401


def test_a_token_is_looked_up_again_after_a_few_seconds(database_url: str) -> None:
    async def go() -> None:
        settings = Settings(database_url=database_url)
        async with Database.open(settings) as database:
            now = [100.0]
            context = Engine(database, settings).context
            authenticator = Authenticator(context, is_open=True, clock=lambda: now[0])

            async def come(secret: str | None) -> str:
                headers = [(b"authorization", f"Bearer {secret}".encode())] if secret else []
                return (
                    await authenticator.admit({"method": "GET", "path": "/v1/executions", "headers": headers})
                ).name

            assert await come(None) == "anonymous@loopback"
            async with context.transaction() as tx:
                id_, secret = await create_token(tx, "mine", "viewer")
            assert await come(secret) == "mine"
            assert await come(None) == "anonymous@loopback"
            now[0] += TOKEN_CACHE_SECONDS
            with pytest.raises(Unauthorized):
                await come(None)
            assert await come(secret) == "mine"
            async with context.transaction() as tx:
                await revoke_token(tx, id_)
            assert await come(secret) == "mine"
            now[0] += TOKEN_CACHE_SECONDS
            with pytest.raises(Unauthorized):
                await come(secret)

    asyncio.run(go())


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "127.0.0.1:1"}, 200),
        ({"host": "localhost:8520"}, 200),
        ({"host": "[::1]:8520"}, 200),
        ({"host": "evil.example"}, 400),
        ({"host": "127.0.0.1.evil.example"}, 400),
        ({"host": "127.0.0.1:1", "origin": "http://evil.example"}, 403),
        ({"host": "127.0.0.1:1", "origin": "null"}, 403),
        ({"host": "127.0.0.1:1", "origin": "http://127.0.0.1:1"}, 200),
    ],
)
def test_open_access_is_not_for_web_pages_of_others(standing, headers: dict[str, str], status: int) -> None:
    with standing.http() as http:
        assert http.get("/v1/version", headers=headers).status_code == status


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True), ("127.8.9.1", True), ("::1", True), ("[::1]", True), ("localhost", True), ("LOCALHOST", True),
        ("0.0.0.0", False), ("::", False), ("", False), ("10.0.0.1", False), ("example.org", False), ("localhost.evil", False),
    ],
)  # fmt: skip
def test_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected
