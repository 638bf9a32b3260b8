"""The command `tenax` as a process (`tests/support/serve/forked_commands.py`), in a folder and with a home of its own."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from support.hand import Hand, hand_on
from support.serve.forked_commands import Ended, shared_commands

from tenax.server.app import serve
from tenax.settings import Settings

Command = Callable[..., Ended]
Play = Callable[[Callable[[Hand], Awaitable[Any]]], Any]


def clean_environment(home: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TENAX_", "COV_"))}
    kept.pop("FORCE_COLOR", None)
    return {**kept, "TENAX_HOME": str(home), **more}


@pytest.fixture
def environment(tmp_path: Path) -> Callable[..., dict[str, str]]:
    """The variables that a command of this test runs with, and some more."""
    return lambda **more: clean_environment(tmp_path / "home", **more)


@pytest.fixture
def play(database_url: str, tmp_path: Path) -> Play:
    """Gives an engine whose clock stands still, which does everything that happens between two commands."""

    def run(scene: Callable[[Hand], Awaitable[Any]]) -> Any:
        async def played() -> Any:
            async with hand_on(database_url, tmp_path) as hand:
                return await scene(hand)

        return asyncio.run(played())

    return run


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """`command("list", "--json", TENAX_SERVER="...")`: arguments, and variables of the environment."""

    def run(*arguments: str, stdin: str = "", **variables: str) -> Ended:
        environment = clean_environment(tmp_path / "home", **variables)
        return shared_commands().run(arguments, cwd=tmp_path, environment=environment, stdin=stdin)

    return run


@pytest.fixture
def server(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of a real server on the test's database. Commands, and clients within the test, find its token in the home."""
    monkeypatch.setenv("TENAX_HOME", str(tmp_path / "home"))
    started: Queue[Any] = Queue()
    settings = Settings(home=tmp_path / "home", database_url=database_url, port=0)

    async def body() -> None:
        stop = asyncio.Event()
        await serve(
            settings, ready=lambda url: started.put((url, asyncio.get_running_loop(), stop)), stop=stop
        )

    thread = threading.Thread(target=lambda: asyncio.run(body()))
    thread.start()
    url, loop, stop = started.get(timeout=30)
    yield url
    loop.call_soon_threadsafe(stop.set)
    thread.join()
