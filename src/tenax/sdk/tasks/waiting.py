"""Waits for the end of an execution."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from tenax.errors import NotStartedYet, TenaxError, Unreachable
from tenax.sdk.held import warn_of_held

T = TypeVar("T")

FINISHED = frozenset({"completed", "failed", "cancelled"})
_TELLING = frozenset(
    {
        "execution_completed",
        "execution_failed",
        "execution_cancelled",
        "retry_held",
        "item_held",
        "retry_released",
    }
)
"""Types of events after which the state of the execution is read."""
OUTAGE_SECONDS = 120.0
"""Seconds for which a server or a database may be away during a wait, or a submission in a transaction may wait for a server."""
PARK_SECONDS = 20.0
"""Seconds for which one request for events waits in the server for the next event."""


class Tells(Protocol):
    """Is the part of a client that waiting needs."""

    async def get(self, execution_id: int) -> dict[str, Any]: ...

    async def news(
        self, execution_id: int, *, cursor: str | None = None, wait: float = 0
    ) -> Mapping[str, Any]: ...


async def wait_for_end(client: Tells, execution_id: int, seconds: float | None) -> dict[str, Any]:
    """Returns the execution when it is finished. Raises `TimeoutError` after `seconds`."""
    try:
        async with asyncio.timeout(seconds) as limit:
            return await _until_the_end(client, execution_id)
    except TimeoutError:
        if seconds is None or not limit.expired():
            raise
        said = f"execution {execution_id} is not finished after {seconds:g} s; it goes on"
        raise TimeoutError(said) from None


async def _until_the_end(client: Tells, execution_id: int) -> dict[str, Any]:
    cursor: str | None = None
    told: set[str] = set()
    execution = await _patiently(partial(client.get, execution_id), NotStartedYet)
    while execution["status"] not in FINISHED:
        warn_of_held(execution, told)
        events: Sequence[Mapping[str, Any]] = [{}]
        while events and not any(event.get("type") in _TELLING for event in events):
            news = await _patiently(partial(client.news, execution_id, cursor=cursor, wait=PARK_SECONDS))
            cursor, events = news["cursor"], news["events"]
        execution = await _patiently(partial(client.get, execution_id))
    return execution


async def _patiently(call: Callable[[], Awaitable[T]], passing: type[TenaxError] = Unreachable) -> T:
    """Calls until there is an answer. During a wait, a server or a database may be away for a while."""
    until, pause = time.monotonic() + OUTAGE_SECONDS, 0.01
    while True:
        try:
            return await call()
        except passing:
            if time.monotonic() > until:
                raise
        await asyncio.sleep(pause)
        pause = min(2 * pause, 2.0)
