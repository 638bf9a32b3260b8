"""The tasks that the measures run: as little as can be."""

from __future__ import annotations

import asyncio
import time

from tenax.sdk.context import TaskContext
from tenax.sdk.task import task


@task
async def noop() -> None:
    pass


@task
async def waited(submitted: float) -> float:
    """How long after its submission it started: both clocks are this machine's."""
    return time.time() - submitted


@task
async def fails(times: int, ctx: TaskContext) -> int:
    if ctx.attempt <= times:
        raise ConnectionError("not yet")
    return ctx.attempt


@task
async def fails_some(n: int, ctx: TaskContext) -> int:
    """One in twenty fails once."""
    if n % 20 == 0 and ctx.attempt == 1:
        raise ConnectionError("not yet")
    return n


@task
async def takes(seconds: float) -> None:
    await asyncio.sleep(seconds)
