"""Tests who may use a server: closed by default, with a token that it makes for its user, and open only on request."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tenax.credentials.token_file import read_token
from tenax.sdk.client import Client
from tenax.sdk.sync_client import SyncClient
from tenax.server.app import serve
from tenax.settings import Settings
from tenax.store.connect import connect
from tenax.store.fleet.tokens import list_tokens, revoke_token


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home", database_url=database_url, port=0)


@pytest.fixture
def closed(start) -> Iterator[Any]:
    """A server as it is by default."""
    return start(open=False)


def said_at_start(settings: Settings) -> str:
    """Starts a server, stops it, and returns what it said of who may enter."""
    told: list[str] = []

    async def go() -> None:
        stop = asyncio.Event()
        await serve(settings, ready=lambda _url: stop.set(), tell=told.append, stop=stop)

    asyncio.run(go())
    [words] = told
    return words


def in_database(settings: Settings, work: Callable[[Any], Awaitable[Any]]) -> Any:
    async def go() -> Any:
        connection = await connect(str(settings.database_url))
        try:
            return await work(connection)
        finally:
            await connection.close()

    return asyncio.run(go())


def live_tokens(settings: Settings) -> list[tuple[str, str]]:
    return [(one.name, one.role) for one in in_database(settings, list_tokens) if one.revoked_at is None]


def status(served: Any, token: str | None = None) -> int:
    with served.http(token) as http:
        return http.get("/v1/executions").status_code


def test_without_tokens_it_is_closed_and_its_user_has_one(settings: Settings, closed: Any) -> None:
    assert status(closed) == 401
    assert status(closed, read_token(settings.home)) == 200
    [(name, role)] = live_tokens(settings)
    assert (name.endswith(f"@{socket.gethostname()}"), role) == (True, "admin")
    file = settings.home / "token"
    assert (stat.S_IMODE(file.stat().st_mode), file.stat().st_uid) == (0o600, os.geteuid())
    assert said_at_start(settings) == f"closed: tokens only; your token is in {file}"
    assert live_tokens(settings) == [(name, "admin")], "the next start makes none"


def test_the_first_start_says_where_it_is(settings: Settings) -> None:
    file = settings.home / "token"
    assert said_at_start(settings) == f"closed: tokens only; a new admin token for you is in {file}"


def test_clients_find_it_by_themselves(settings: Settings, closed: Any, monkeypatch) -> None:
    monkeypatch.setenv("TENAX_HOME", str(settings.home))
    with SyncClient(closed.url) as client:
        assert client.list() == []

    async def go() -> None:
        async with Client(closed.url) as client:
            assert await client.list() == []

    asyncio.run(go())


def test_beyond_loopback_it_is_closed_too(start) -> None:
    served = start(host="0.0.0.0", open=False)
    url = served.url.replace("0.0.0.0", "127.0.0.1")
    assert httpx2.get(f"{url}/v1/executions").status_code == 401


def test_open_is_said_and_makes_no_token(settings: Settings, start) -> None:
    assert status(start(open=True)) == 200
    words = said_at_start(Settings(home=settings.home, database_url=settings.database_url, port=0, open=True))
    assert words.startswith("open: anyone who can reach 127.0.0.1:")
    assert " may run work as this user (" in words
    assert live_tokens(settings) == []
    assert not (settings.home / "token").exists()


def test_open_lets_nobody_in_once_there_are_tokens(start) -> None:
    start(open=True).token("viewer")
    assert status(start(open=True)) == 401


def test_open_lets_a_token_of_another_server_in_but_none_that_was_revoked(settings: Settings, start) -> None:
    """A client on this machine shows the token of its home to every server on loopback."""
    served = start(open=True)
    assert status(served, "tenax_of-another-server") == 200
    revoked = served.token("worker", "gone")
    in_database(settings, lambda tx: revoke_token(tx, "gone"))
    assert status(served, revoked) == 401
    served.token("viewer")
    assert status(start(open=True), "tenax_of-another-server") == 401


def test_servers_that_start_at_once_share_one_token(settings: Settings, start) -> None:
    with ThreadPoolExecutor() as pool:
        started = list(pool.map(lambda _: start(open=False), range(4)))
    assert len(live_tokens(settings)) == 1
    assert {status(one, read_token(settings.home)) for one in started} == {200}


def test_a_database_that_was_reset_takes_the_token_in_the_file(settings: Settings, start) -> None:
    said_at_start(settings)
    own = read_token(settings.home)
    in_database(settings, lambda tx: tx.execute("truncate tenax.token"))
    assert said_at_start(settings).startswith(
        "closed: tokens only; this database (new, or reset) did not know the token in "
    )
    assert read_token(settings.home) == own
    assert status(start(open=False), own) == 200


def test_one_that_was_revoked_stays_so(settings: Settings, start) -> None:
    said_at_start(settings)
    old = read_token(settings.home)
    [(name, _)] = live_tokens(settings)
    in_database(settings, lambda tx: revoke_token(tx, name))
    served = start(open=False)
    new = read_token(settings.home)
    assert new != old
    assert (status(served, old), status(served, new)) == (401, 200)
    in_database(settings, lambda tx: revoke_token(tx, name))
    served.token("operator")
    words = said_at_start(settings)
    assert words.startswith(f"closed: tokens only; the token in {settings.home / 'token'} has been revoked")
    assert read_token(settings.home) == new, "where there are others, none is made"


def test_revoking_the_last_token_opens_nothing(settings: Settings, closed: Any) -> None:
    with closed.http(read_token(settings.home)) as http:
        [token] = http.get("/v1/tokens").json()
        http.post(f"/v1/tokens/{token['id']}/revoke")
    assert status(closed) == 401
