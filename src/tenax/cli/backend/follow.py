"""Follows an execution to its end, and waits through short outages of the server or database."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from tenax.cli.render.live import FollowView
from tenax.drawing.event_lines import events_in_order
from tenax.errors import NotFound, Unreachable
from tenax.model.execution_views import News

FINISHED = frozenset({"completed", "failed", "cancelled"})
PARK_SECONDS = 15.0  # seconds for which one request for events waits in the server
PROGRESS_SECONDS = 1.0  # seconds between two looks at the progress
OUTAGE_SECONDS = 120.0
"""Seconds for which the server or database may be unreachable before following is given up."""
_ENDS = frozenset({"execution_completed", "execution_failed", "execution_cancelled"})

T = TypeVar("T")


class EventSource(Protocol):
    """Is the part of a `Backend` that `follow` needs."""

    async def get(self, execution_id: int) -> dict[str, Any]: ...

    async def news(self, execution_id: int, *, cursor: str | None = None, wait: float = 0) -> News: ...

    async def progress(self, execution_id: int) -> Sequence[Mapping[str, Any]]: ...


async def follow(
    source: EventSource,
    execution_id: int,
    view: FollowView,
    *,
    warning: Callable[[], Awaitable[str | None]] | None = None,
) -> dict[str, Any]:
    """Passes every event to the view. Returns the execution when it has ended.

    Raises `Unreachable` at once if the backend cannot be reached at the beginning, and only later waits for it to come back.
    `warning` returns why an open execution does not go on, or None.
    """
    found = await source.get(execution_id)
    view.begin(found)
    if warning and found["status"] not in FINISHED and (said := await warning()):
        view.notice(said)
    ticking = [asyncio.create_task(view.tick())]
    if view.shows_progress:
        ticking.append(asyncio.create_task(_look_at_progress(source, execution_id, view)))
    try:
        cursor: str | None = None
        while True:
            told = await _patiently(
                view, partial(source.news, execution_id, cursor=cursor, wait=PARK_SECONDS)
            )
            cursor = told.cursor
            for event in events_in_order(told.events):
                view.event(event)
            if not told.events or any(event.type in _ENDS for event in told.events):
                execution = await _patiently(view, partial(source.get, execution_id))
                if execution["status"] in FINISHED:
                    return execution
    finally:
        for task in ticking:
            task.cancel()
        view.close()


async def _look_at_progress(source: EventSource, execution_id: int, view: FollowView) -> None:
    """Shows the progress once a second, until it is cancelled. An older server knows nothing of it."""
    while True:
        await asyncio.sleep(PROGRESS_SECONDS)
        with contextlib.suppress(Unreachable):
            try:
                view.progress(await source.progress(execution_id))
            except NotFound:
                return


async def _patiently(view: FollowView, call: Callable[[], Awaitable[T]]) -> T:
    started, pause, told = time.monotonic(), 0.1, False
    while True:
        try:
            answer = await call()
        except Unreachable as error:
            if time.monotonic() - started > OUTAGE_SECONDS:
                raise
            if not told:
                told = True
                view.notice(f"{error.message}; waiting for it to come back")
            await asyncio.sleep(pause)
            pause = min(pause * 2, 2.0)
        else:
            return answer
