"""Waits for the end of an execution."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

from tenax.sdk.held import warn_of_held

FINISHED = frozenset({"completed", "failed", "cancelled"})
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
    while True:
        execution = await client.get(execution_id)
        if execution["status"] in FINISHED:
            return execution
        warn_of_held(execution, told)
        cursor = (await client.news(execution_id, cursor=cursor, wait=PARK_SECONDS))["cursor"]
