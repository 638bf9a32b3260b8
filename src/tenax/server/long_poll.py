"""Requests that wait inside the server: for work, or for the next event."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar, cast

from starlette.requests import Request

from tenax.errors import Unreachable

T = TypeVar("T")


class Stopping(Unreachable):
    """The server stops, in good order: another answers, or this one does in a moment."""

    def __init__(self) -> None:
        super().__init__("the server is stopping", remedy="try again in a moment")


class _Wait:
    """What waits, in the task of its request. To make a task for it would let every answer come two turns of the loop later."""

    def __init__(self) -> None:
        self._task = cast("asyncio.Task[Any]", asyncio.current_task())
        self._is_ended = False

    def end(self) -> None:
        if not self._is_ended:
            self._is_ended = True
            self._task.cancel()

    def was_ended_alone(self) -> bool:
        """Whether it was the wait alone that was cancelled, and not the whole request."""
        return self._is_ended and self._task.uncancel() == 0


class LongPolls:
    """Ends what waits as soon as its client has gone away, or the server closes."""

    def __init__(self) -> None:
        self.closing = False
        self._waits: set[_Wait] = set()

    def close(self) -> None:
        """From now on nothing parks; what is parked is answered at once, with nothing."""
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
        """What the work comes to; None where client or server left first. The work is then cancelled, and has ended.

        `give_back` gets what the work came to in spite of that.
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
