"""Databases for tests: one server for the whole run, shared by its processes, and a fresh clone of a template for each test.

`database_url`        a migrated database on the embedded PostgreSQL
`any_database_url`    the same, and once more on the system's PostgreSQL where there is one
`empty_database_url`  as `any_database_url`, with no schema yet
                      (at the end of a test every event of its log must conform, unless the test is marked `odd_log`)
`open_folder`         a folder that PostgreSQL's account can enter too (pytest's own cannot be, as root)
"""

from __future__ import annotations

import asyncio
import fcntl
import inspect
import os
import shutil
import signal
import tempfile
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest
from support.declared_events import log_faults

from tenax.store.embedded.binaries import Installation
from tenax.store.embedded.server import EmbeddedPostgres
from tenax.store.migrate import migrate

_RUN = "TENAX_TEST_RUN"
_TEMPLATE = "template_for_tests"
_IN_MEMORY = Path("/dev/shm")
_ROOM = 4 * 2**30
"""Bytes that must be free in memory before databases are put there."""
# Nothing here outlives the run, so nothing needs to survive a power cut.
_NOT_DURABLE = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "max_connections": "200",
}


def pytest_configure() -> None:
    # A shell that runs the tests in the background lets them ignore Ctrl-C, and so all that they start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # The processes of pytest-xdist inherit it, and so share the servers.
    name = f"tenax-tests-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    os.environ.setdefault(_RUN, str(_place_for_databases() / name))
    # No client of a test shows the token of whoever runs the tests.
    os.environ["TENAX_HOME"] = str(_run_folder() / "nobodys-home")


def pytest_unconfigure() -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        shutil.rmtree(_run_folder(), ignore_errors=True)
        del os.environ[_RUN]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs a test that is a coroutine by `asyncio.run`."""
    if not inspect.iscoroutinefunction(pyfuncitem.function):
        return None
    names = inspect.signature(pyfuncitem.function).parameters
    given = {name: pyfuncitem.funcargs[name] for name in names}
    chosen = pyfuncitem.callspec.params if hasattr(pyfuncitem, "callspec") else {}
    asyncio.run(_run_test(pyfuncitem.function, given, [name for name in given if name not in chosen]))
    return True


async def _run_test(test: Callable[..., Awaitable[None]], given: dict[str, Any], fixtures: list[str]) -> None:
    """Opens the fixtures that are asynchronous contexts, in the event loop of the test, and closes them after it."""
    async with AsyncExitStack() as stack:
        for name in fixtures:
            if isinstance(given[name], AbstractAsyncContextManager):
                given[name] = await stack.enter_async_context(given[name])
        await test(**given)


def _run_folder() -> Path:
    return Path(os.environ[_RUN])


def _place_for_databases() -> Path:
    """Returns the folder for files that do not outlive the run. In memory, where there is room: hundreds of databases are made and dropped."""
    if os.access(_IN_MEMORY, os.W_OK) and shutil.disk_usage(_IN_MEMORY).free > _ROOM:
        return _IN_MEMORY
    return Path(tempfile.gettempdir())


def _make_open(folder: Path) -> Path:
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    folder.chmod(0o755)
    return folder


def _system_installation() -> Installation | None:
    found = [path for path in Path("/usr/lib/postgresql").glob("*/bin/initdb") if path.parts[-3].isdigit()]
    roots = sorted((path.parent.parent for path in found), key=lambda root: int(root.name))
    return Installation(int(roots[-1].name), roots[-1]) if roots else None


@pytest.fixture
def open_folder() -> Iterator[Path]:
    yield from _open_folder()


@pytest.fixture(scope="module")
def open_folder_of_module() -> Iterator[Path]:
    yield from _open_folder()


def _open_folder() -> Iterator[Path]:
    folder = _make_open(_make_open(_run_folder()) / uuid.uuid4().hex[:12])
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def embedded_server() -> Iterator[str]:
    yield from _server("embedded", None)


@pytest.fixture(scope="session")
def system_server() -> Iterator[str]:
    installation = _system_installation()
    assert installation
    yield from _server("system", installation)


@pytest.fixture
def database_url(embedded_server: str, request: pytest.FixtureRequest) -> Iterator[str]:
    yield from _database(embedded_server, _TEMPLATE, request)


@pytest.fixture(scope="module")
def database_url_of_module(embedded_server: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """A migrated database that the tests of one file share."""
    yield from _database(embedded_server, _TEMPLATE, request)


@pytest.fixture(params=["embedded", "system"] if _system_installation() else ["embedded"])
def any_server(request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue(f"{request.param}_server")


@pytest.fixture
def any_database_url(any_server: str, request: pytest.FixtureRequest) -> Iterator[str]:
    yield from _database(any_server, _TEMPLATE, request)


@pytest.fixture
def empty_database_url(any_server: str, request: pytest.FixtureRequest) -> Iterator[str]:
    yield from _database(any_server, "template0", request)


def _server(name: str, installation: Installation | None) -> Iterator[str]:
    home = _make_open(_make_open(_run_folder()) / name)
    server = EmbeddedPostgres(home, installations=installation and [installation], options=_NOT_DURABLE)
    with server:
        url = server.ensure_running()
        with (home / "template.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            asyncio.run(_make_template(url))
        yield url


async def _make_template(url: str) -> None:
    admin = await asyncpg.connect(url)
    try:
        if await admin.fetchval("select 1 from pg_database where datname = $1 and datistemplate", _TEMPLATE):
            return
        await admin.execute(f"drop database if exists {_TEMPLATE}")
        await admin.execute(f"create database {_TEMPLATE}")
        connection = await asyncpg.connect(_with_database(url, _TEMPLATE))
        await migrate(connection)
        await connection.close()
        await admin.execute(f"alter database {_TEMPLATE} is_template true")
    finally:
        await admin.close()


def _database(server_url: str, template: str, request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"test_{uuid.uuid4().hex[:16]}"
    asyncio.run(_execute(server_url, f"create database {name} template {template}"))
    url = _with_database(server_url, name)
    yield url
    faults = [] if request.node.get_closest_marker("odd_log") else asyncio.run(_faults(url))
    asyncio.run(_execute(server_url, f"drop database {name} with (force)"))
    assert faults == [], "events that do not conform to their declaration"


async def _faults(url: str) -> list[str]:
    connection = await asyncpg.connect(url)
    try:
        return await log_faults(connection)
    finally:
        await connection.close()


async def _execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


def _with_database(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}", netloc="tenax@"))
