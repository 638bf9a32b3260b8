"""Requests that wait inside the server: for work, or for the next event."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from starlette.requests import Request

from tenax.errors import Unreachable

T = TypeVar("T")


class Stopping(Unreachable):
    """The server stops, in good order: another answers, or this one does in a moment."""

    def __init__(self) -> None:
        super().__init__("the server is stopping", remedy="try again in a moment")


class Parking:
    """Ends what waits as soon as its client has gone away, or the server closes."""

    def __init__(self) -> None:
        self.closing = False
        self._parked: set[asyncio.Future[None]] = set()

    def close(self) -> None:
        """From now on nothing parks; what is parked is answered at once, with nothing."""
        self.closing = True
        for let_go in self._parked:
            if not let_go.done():
                let_go.set_result(None)

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
        task, gone = asyncio.create_task(work), asyncio.create_task(_gone(request))
        let_go: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._parked.add(let_go)
        first: set[asyncio.Future[Any]] = {task, gone, let_go}
        try:
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
            left = gone.done()
        finally:
            self._parked.discard(let_go)
            gone.cancel()
            task.cancel()
            if not task.done():
                await asyncio.wait({task})
        if task.cancelled():
            return None
        value = task.result()
        if left and give_back is not None:
            await give_back(value)
        return value


async def _gone(request: Request) -> bool:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    return True
