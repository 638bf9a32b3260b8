"""Waits for the first of several awaitables, and for the end of cancelled tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any


async def ended_before(event: asyncio.Event, *work: Awaitable[object]) -> bool:
    """Waits for the event or for the end of any of the work. Returns True if some work ended first.

    Errors of the work are raised. Coroutines are cancelled when the wait ends. Tasks go on: they belong to their owner.
    """
    own = [asyncio.ensure_future(part) for part in work if not isinstance(part, asyncio.Task)]
    tasks = [*own, *(part for part in work if isinstance(part, asyncio.Task))]
    waiter = asyncio.create_task(event.wait())
    try:
        await asyncio.wait({waiter, *tasks}, return_when=asyncio.FIRST_COMPLETED)
        ended = [task for task in tasks if task.done()]
        for task in ended:
            task.result()
        return bool(ended)
    finally:
        await cancel_and_wait(waiter, *(task for task in own if not task.done()))


async def wait_at_most(seconds: float, event: asyncio.Event, *work: Awaitable[object]) -> None:
    """Waits like `ended_before`, for `seconds` at most."""
    try:
        async with asyncio.timeout(seconds):
            await ended_before(event, *work)
    except TimeoutError:
        return


async def cancel_and_wait(*tasks: asyncio.Future[Any]) -> None:
    """Cancels the tasks and waits for their end. Their errors are ignored: somebody else has read them."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def is_being_cancelled() -> bool:
    """Returns whether the calling task itself was cancelled, and not only something that it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
