"""Submits jobs: all at once, or at a steady rate that does not depend on the answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from tenax.model.wire import Submission

Submit = Callable[[Sequence[Submission]], Awaitable[Any]]


async def submit_all(submit: Submit, source: str, jobs: int, *, batch: int) -> float:
    """Submits all jobs, two batches at a time. Returns the submissions per second.

    One job goes first without being timed, and brings the definition.
    """
    await submit([Submission(source=source)])
    jobs -= 1
    sizes = [min(batch, jobs - start) for start in range(0, jobs, batch)]

    async def some() -> None:
        while sizes:
            await submit([Submission(source=source)] * sizes.pop())

    begun = time.perf_counter()
    await asyncio.gather(some(), some())
    return jobs / (time.perf_counter() - begun)


async def submit_steadily(submit: Submit, source: str, *, rate: float, seconds: float, stamped: bool) -> int:
    """Submits in an open loop: the n-th call starts at its time, even if the one before has not been answered.

    One more job goes first and stores the definition. Returns the number of jobs, including that one.
    """
    loop = asyncio.get_running_loop()

    async def one(at: float) -> None:
        await asyncio.sleep(at - loop.time())
        values = {"submitted": time.time()} if stamped else {}
        await submit([Submission(source=source, input=values)])

    await one(loop.time())
    begun, count = loop.time(), steady_count(rate, seconds)
    await asyncio.gather(*(one(begun + n / rate) for n in range(1, count)))
    return count


def steady_count(rate: float, seconds: float) -> int:
    return int(rate * seconds) + 1
