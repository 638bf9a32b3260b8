"""Databases and folders for tests. One PostgreSQL serves the whole run and all its processes (`support/databases.py`).

`database_url`         a migrated database on the embedded PostgreSQL; it is emptied after the test, and used again
`own_database_url`     the same, but nobody uses it after the test
`any_database_url`     as `database_url`, with `--postgres=both` on the system's PostgreSQL too (and `own_any_database_url`)
`empty_database_url`   as `own_any_database_url`, with no schema yet
                       (at the end of a test every event of its log must conform, unless the test is marked `odd_log`)
`open_folder`          a folder with a short path that PostgreSQL's account can enter
"""

from __future__ import annotations

import asyncio
import inspect
import os
import shutil
import signal
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import support.profiles  # noqa: F401 - registers the profiles of Hypothesis
from support.databases import (
    EMPTY,
    Server,
    folder_for_databases,
    make_open,
    remove_leftovers,
    serve,
    system_installation,
)

_RUN = "TENAX_TEST_RUN"
_PREFIX = "tenax-tests"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--postgres",
        choices=["embedded", "system", "both"],
        default="embedded",
        help="the PostgreSQL of tests that run on any: the embedded one, Debian's, or one after the other (as far as they are there)",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    # A shell that runs the tests in the background lets them ignore Ctrl-C, and so all that they start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # The processes of pytest-xdist inherit it, and so share the servers.
    if _RUN not in os.environ:
        place = folder_for_databases()
        remove_leftovers(place, _PREFIX)
        os.environ[_RUN] = str(place / f"{_PREFIX}-{os.getpid()}-{uuid.uuid4().hex[:8]}")
    # No client of a test may use the token of the user who runs the tests.
    os.environ["TENAX_HOME"] = str(_run_folder() / "nobodys-home")
    if config.option.basetemp is None:
        config.option.basetemp = str(make_open(_run_folder()) / f"tmp-{os.getpid()}")


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


@pytest.fixture
def tmp_path(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns pytest's folder for the test. As root, returns a folder that PostgreSQL's account can enter, and that is removed at the end."""
    base = tmp_path_factory.getbasetemp()
    for folder in (base.parent, base, tmp_path):
        if folder.is_relative_to(_run_folder()):
            folder.chmod(0o755)
    return tmp_path


@pytest.fixture
def open_folder() -> Iterator[Path]:
    yield from _open_folder()


@pytest.fixture(scope="module")
def open_folder_of_module() -> Iterator[Path]:
    yield from _open_folder()


def _open_folder() -> Iterator[Path]:
    folder = make_open(make_open(_run_folder()) / uuid.uuid4().hex[:12])
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def embedded_postgres() -> Iterator[Server]:
    with serve(_folder_of_server("embedded"), None) as server:
        yield server


@pytest.fixture(scope="session")
def system_postgres() -> Iterator[Server]:
    with serve(_folder_of_server("system"), system_installation()) as server:
        yield server


@pytest.fixture(scope="session")
def embedded_server(embedded_postgres: Server) -> str:
    """Returns the URL of the embedded PostgreSQL."""
    return embedded_postgres.url


def _folder_of_server(name: str) -> Path:
    return make_open(make_open(_run_folder()) / name)


@pytest.fixture
def any_postgres(request: pytest.FixtureRequest) -> Server:
    """Returns the PostgreSQL of the test. With `--postgres=both` the test runs on each of them."""
    found: Server = request.getfixturevalue(f"{request.param}_postgres")
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "any_postgres" in metafunc.fixturenames:
        only_one = metafunc.definition.get_closest_marker("one_postgres")
        kinds = _postgres_kinds(metafunc.config)
        metafunc.parametrize("any_postgres", kinds[:1] if only_one else kinds, indirect=True)


def _postgres_kinds(config: pytest.Config) -> list[str]:
    chosen = config.getoption("--postgres")
    if chosen != "both":
        return [chosen]
    return ["embedded", "system"] if system_installation() else ["embedded"]


@pytest.fixture
def database_url(embedded_postgres: Server, request: pytest.FixtureRequest) -> Iterator[str]:
    with embedded_postgres.reused_database(odd_log=_has_odd_log(request)) as url:
        yield url


@pytest.fixture
def own_database_url(embedded_postgres: Server, request: pytest.FixtureRequest) -> Iterator[str]:
    with embedded_postgres.own_database(odd_log=_has_odd_log(request)) as url:
        yield url


@pytest.fixture(scope="module")
def database_url_of_module(embedded_postgres: Server, request: pytest.FixtureRequest) -> Iterator[str]:
    with embedded_postgres.own_database(odd_log=_has_odd_log(request)) as url:
        yield url


@pytest.fixture
def any_database_url(any_postgres: Server, request: pytest.FixtureRequest) -> Iterator[str]:
    with any_postgres.reused_database(odd_log=_has_odd_log(request)) as url:
        yield url


@pytest.fixture
def own_any_database_url(any_postgres: Server, request: pytest.FixtureRequest) -> Iterator[str]:
    with any_postgres.own_database(odd_log=_has_odd_log(request)) as url:
        yield url


@pytest.fixture
def empty_database_url(any_postgres: Server, request: pytest.FixtureRequest) -> Iterator[str]:
    with any_postgres.own_database(EMPTY, odd_log=_has_odd_log(request)) as url:
        yield url


def _has_odd_log(request: pytest.FixtureRequest) -> bool:
    return request.node.get_closest_marker("odd_log") is not None
