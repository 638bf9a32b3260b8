"""Waiting for the first of several things, and for the end of what is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any


async def until(event: asyncio.Event, *work: Awaitable[object]) -> bool:
    """Waits for the first of them; True where that is not the event. What the work raises comes out.

    Coroutines are ended with the wait; tasks are their owner's.
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
        await cancelled(waiter, *(task for task in own if not task.done()))


async def within(seconds: float, event: asyncio.Event, *work: Awaitable[object]) -> None:
    """The same, for so long at most."""
    try:
        async with asyncio.timeout(seconds):
            await until(event, *work)
    except TimeoutError:
        return


async def cancelled(*tasks: asyncio.Future[Any]) -> None:
    """Cancels them and waits for their end. What they had to say was heard elsewhere."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def is_ending() -> bool:
    """Whether the task that asks is to end: else it is only what it waits for that was cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
