"""Lets requests wait inside the server, for work or for the next event."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar, cast

from starlette.requests import Request

from tenax.errors import Unreachable

T = TypeVar("T")


class Stopping(Unreachable):
    """The server is being stopped. Another server answers, or this one after its restart."""

    def __init__(self) -> None:
        super().__init__("the server is stopping", remedy="try again in a moment")


class _Wait:
    """Lets the task of a request wait, and can end the wait. A task of its own would delay each answer by two turns of the loop."""

    def __init__(self) -> None:
        self._task = cast("asyncio.Task[Any]", asyncio.current_task())
        self._is_ended = False

    def end(self) -> None:
        if not self._is_ended:
            self._is_ended = True
            self._task.cancel()

    def was_ended_alone(self) -> bool:
        """Returns whether only this wait was cancelled, and not the whole request."""
        return self._is_ended and self._task.uncancel() == 0


class LongPolls:
    """Ends the wait of a request as soon as its client goes away or the server closes."""

    def __init__(self) -> None:
        self.closing = False
        self._waits: set[_Wait] = set()

    def close(self) -> None:
        """Answers all waiting requests at once, with an empty answer. No request may wait any more."""
        self.closing = True
        for wait in self._waits:
            wait.end()

    async def wait(
        self,
        request: Request,
        work: Coroutine[Any, Any, T],
        *,
        give_back: Callable[[T], Awaitable[object]] | None = None,
    ) -> T | None:
        """Waits for the work and returns its result. Returns None if the client or the server left first and the work was cancelled.

        `give_back` is called with the result if the work ended although the client had left.
        """
        if self.closing:
            work.close()
            raise Stopping
        wait, gone = _Wait(), asyncio.create_task(_gone(request))
        self._waits.add(wait)
        left = False

        def leave(_gone: asyncio.Future[None]) -> None:
            if wait in self._waits:
                wait.end()

        gone.add_done_callback(leave)
        try:
            value = await work
            left = gone.done()
        except asyncio.CancelledError:
            if not wait.was_ended_alone():
                raise
            return None
        finally:
            self._waits.discard(wait)
            gone.cancel()
        if left and give_back is not None:
            await give_back(value)
        return value


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
