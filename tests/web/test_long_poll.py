"""Tests how a waiting request ends: answered, left by its client, or answered empty by a server that closes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from starlette.requests import Request

from tenax.errors import Unreachable
from tenax.web.long_poll import LongPolls


class Scene:
    """A request whose client can leave, and work that ends when it is told to."""

    def __init__(self) -> None:
        self.long_polls = LongPolls()
        self.left = asyncio.Event()
        self.done = asyncio.Event()
        self.waits = [asyncio.Event(), asyncio.Event()]
        self.ended: list[str] = []
        self.given_back: list[str] = []
        messages = iter([{"type": "http.request", "body": b""}])

        async def receive() -> Any:
            for message in messages:
                return message
            self.waits[0].set()
            await self.left.wait()
            return {"type": "http.disconnect"}

        self.request = Request({"type": "http"}, receive)

    async def work(self) -> str:
        self.waits[1].set()
        try:
            await self.done.wait()
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise
        self.ended.append("done")
        return "work"

    async def give_back(self, value: str) -> None:
        self.given_back.append(value)

    async def begin(self) -> asyncio.Task[str | None]:
        """The request, parked."""
        task = asyncio.create_task(self.wait())
        for event in self.waits:
            await event.wait()
        return task

    async def wait(self) -> str | None:
        return await self.long_polls.wait(self.request, self.work(), give_back=self.give_back)


@pytest.mark.parametrize(
    ("happens", "answer", "ended", "given_back"),
    [
        (lambda s: s.done.set(), "work", ["done"], []),
        (lambda s: s.left.set(), None, ["cancelled"], []),
        (lambda s: s.long_polls.close(), None, ["cancelled"], []),
        (lambda s: (s.done.set(), s.left.set()), "work", ["done"], []),
        (lambda s: (s.left.set(), s.done.set()), "work", ["done"], ["work"]),
        (lambda s: (s.done.set(), s.long_polls.close()), None, ["cancelled"], []),
    ],
    ids=[
        "work",
        "client leaves",
        "server closes",
        "client leaves when the work is done",
        "client leaves as the work is done",
        "server closes as the work is done",
    ],
)
def test_whatever_happens_first(
    happens: Callable[[Scene], Any], answer: str | None, ended: list[str], given_back: list[str]
) -> None:
    async def go() -> None:
        scene = Scene()
        waiting = await scene.begin()
        happens(scene)
        assert await waiting == answer
        assert (scene.ended, scene.given_back) == (ended, given_back)

    asyncio.run(go())


def test_the_work_ends_with_a_request_that_is_cancelled() -> None:
    async def go() -> None:
        scene = Scene()
        waiting = await scene.begin()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert scene.ended == ["cancelled"]

    asyncio.run(go())


def test_nothing_parks_at_a_server_that_closes() -> None:
    async def go() -> None:
        scene = Scene()
        scene.long_polls.close()
        with pytest.raises(Unreachable, match="stopping"):
            await scene.wait()
        assert scene.ended == []

    asyncio.run(go())
