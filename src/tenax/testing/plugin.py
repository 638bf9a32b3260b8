"""Is the plugin for pytest: the fixture `tenax`, its options, and its hooks.

pytest imports this module in every run of everyone who has Tenax installed. So it imports nothing of Tenax before a test uses
the fixture.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tenax.testing.session import TesterSession
    from tenax.testing.tester import Tester

_FOLDER = pytest.StashKey[Path]()
_TESTER = pytest.StashKey["Tester"]()
_SENT = "tenax_folder"
"""The name under which pytest-xdist's controller sends its folder to its workers."""


def pytest_addoption(parser: pytest.Parser) -> None:
    words = "the PostgreSQL on which the fixture `tenax` makes its databases, instead of the embedded one"
    group = parser.getgroup("tenax", "Tenax")
    group.addoption(
        "--tenax-database", metavar="URL", help=f"{words}. Its user must be allowed to create databases"
    )
    parser.addini("tenax_database", f"{words} (--tenax-database)", default="")
    parser.addini(
        "tenax_timeout", "real seconds that an execution of the fixture `tenax` may take", default="30"
    )


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tells a worker of pytest-xdist the folder of the run, so that all of them share one PostgreSQL."""
    node.workerinput[_SENT] = str(_folder_of(node.config))


def pytest_unconfigure(config: pytest.Config) -> None:
    if _FOLDER in config.stash and not hasattr(config, "workerinput"):
        from tenax.testing.postgres import remove_folder

        remove_folder(config.stash[_FOLDER])


@pytest.fixture(scope="session")
def tenax_settings() -> dict[str, Any]:
    """The settings of the engines of tests. Override this fixture to change some, e.g. `{"lease": "10s"}`."""
    return {}


@pytest.fixture(scope="session")
def _tenax_session(pytestconfig: pytest.Config) -> Iterator[TesterSession]:
    from tenax.testing.postgres import remove_leftovers
    from tenax.testing.session import TesterSession

    remove_leftovers()
    url = pytestconfig.getoption("--tenax-database") or pytestconfig.getini("tenax_database")
    session = TesterSession(_folder_of(pytestconfig), url or None)
    yield session
    session.close()


@pytest.fixture
def tenax(
    request: pytest.FixtureRequest, _tenax_session: TesterSession, tenax_settings: dict[str, Any]
) -> Iterator[Tester]:
    """Runs tasks and workflows on a real engine with an empty database, a local worker and a clock that skips waiting times."""
    seconds = float(request.config.getini("tenax_timeout"))
    with _tenax_session.tester(tenax_settings, seconds) as tester:
        request.node.stash[_TESTER] = tester
        yield tester


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fails a test that has passed although something that it injected was never reached."""
    result = yield
    tester = item.stash.get(_TESTER, None)
    if tester is not None and (complaint := tester.missed_injections()) is not None:
        pytest.fail(complaint, pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds what happened in the executions of a test that has failed."""
    report = yield
    tester = item.stash.get(_TESTER, None)
    if tester is not None and report.when == "call" and report.failed:
        report.sections.extend(tester.untold_stories())
    return report


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Explains `assert execution == completed`."""
    module = sys.modules.get("tenax.testing.execution")
    if module is None or op != "==":
        return None
    explained: list[str] | None = module.explain_comparison(left, right)
    return explained


def _folder_of(config: pytest.Config) -> Path:
    """Returns the folder of the run, which is made when a test needs it."""
    if _FOLDER not in config.stash:
        sent = getattr(config, "workerinput", {}).get(_SENT)
        if sent is None:
            from tenax.testing.postgres import choose_folder

            sent = choose_folder()
        config.stash[_FOLDER] = Path(sent)
    return config.stash[_FOLDER]
