"""Defines the tasks that the measures run. They do as little as possible."""

from __future__ import annotations

import asyncio
import time

from tenax.sdk.context import TaskContext
from tenax.sdk.task import task


@task
async def noop() -> None:
    pass


@task
async def counted(number: int) -> int:
    return number


@task
async def waited(submitted: float) -> float:
    """Returns the seconds from the submission to the start. Both times are of this machine's clock."""
    return time.time() - submitted


@task
async def fails(times: int, ctx: TaskContext) -> int:
    if ctx.attempt <= times:
        raise ConnectionError("not yet")
    return ctx.attempt


@task
async def fails_some(n: int, ctx: TaskContext) -> int:
    """Fails the first attempt of one item in twenty."""
    if n % 20 == 0 and ctx.attempt == 1:
        raise ConnectionError("not yet")
    return n


@task
async def takes(seconds: float) -> None:
    await asyncio.sleep(seconds)
