"""Renders a page again when something has changed, once for all who look at it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import structlog

from tenax.errors import Busy, TenaxError
from tenax.ui.live.fragments import RenderedPage

MIN_PAUSE = 0.5  # seconds between two renderings of a page
COST_PAUSE = 10.0
"""The pause in multiples of the time that the last rendering took. Pages that are expensive to render are rendered less often."""
MAX_PAUSE = 5.0
"""Seconds of the longest pause: on a busy machine every rendering takes long, and a page must still follow."""
RENDERED_AT_ONCE = 2  # pages that are rendered at the same time, so that they leave the server its time
MOST_STREAMS = 1000  # streams of one server
_log = structlog.get_logger("tenax.ui")


@dataclass(frozen=True)
class Subject:
    """Says what a page shows, and when it may have changed.

    Everyone with the same `key` gets the same rendering. So the key names all that the rendering depends on: the page, its parameters,
    and the role if the rendering depends on it.
    """

    key: Hashable
    render: Callable[[], Awaitable[Mapping[str, str]]]
    """Returns the HTML of each element that is updated, by the element's id."""
    changes: Callable[[], AbstractAsyncContextManager[asyncio.Event]] | None = None
    """Opens the event that is set by changes, such as `engine.changes(execution_id)`. None: only `every` counts."""
    every: float | None = None
    """Seconds after which the page is rendered again without a change, for figures that change with time."""


class Topic:
    """Keeps the newest rendering of a subject while somebody looks at it."""

    def __init__(self, subject: Subject, turns: asyncio.Semaphore) -> None:
        self.subject = subject
        self.rendered: RenderedPage | None = None
        self.trouble: TenaxError | None = None
        """Says why the last rendering failed. The one before it stays."""
        self.readers = 0
        self.task: asyncio.Task[None] | None = None
        self._turns = turns
        self._news = asyncio.Event()

    async def next(self, seen: object, seconds: float) -> None:
        """Waits until there is something else than what was `seen`, but no longer than some seconds."""
        if self.state == seen:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._news.wait()

    @property
    def state(self) -> tuple[str | None, str | None]:
        """Returns the id of the rendering, and the message of its trouble."""
        rendered = None if self.rendered is None else self.rendered.id
        return rendered, None if self.trouble is None else self.trouble.message

    async def run(self) -> None:
        changes = self.subject.changes or _never
        async with changes() as changed:
            while True:
                changed.clear()
                cost = await self._render()
                await asyncio.sleep(max(MIN_PAUSE, min(COST_PAUSE * cost, MAX_PAUSE)))
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self.subject.every if self.trouble is None else MIN_PAUSE):
                        await changed.wait()

    async def _render(self) -> float:
        """Renders, and tells the readers if something is different. Returns the seconds that it took."""
        async with self._turns:
            loop = asyncio.get_running_loop()
            before, started = self.state, loop.time()
            try:
                self.rendered = RenderedPage.of(await self.subject.render())
                self.trouble = None
            except TenaxError as error:
                self.trouble = error
            except Exception:  # noqa: BLE001 -- the stream goes on: the page says that it is not up to date, the log says why
                _log.exception("a live update failed", page=str(self.subject.key))
                self.trouble = TenaxError("the server failed to render this page; its log says why")
            cost = loop.time() - started
        if self.state != before:
            self._news.set()
            self._news = asyncio.Event()
        return cost


class Topics:
    """Holds the topics that are looked at now."""

    def __init__(self) -> None:
        self._topics: dict[Hashable, Topic] = {}
        self._turns = asyncio.Semaphore(RENDERED_AT_ONCE)
        self.streams = 0

    @contextlib.asynccontextmanager
    async def reading(self, subject: Subject) -> AsyncIterator[Topic]:
        """Opens the topic of a subject. It is rendered as long as anyone has it open."""
        if self.streams >= MOST_STREAMS:
            raise Busy(
                f"{self.streams:,} pages are open on this server already, and each is kept up to date",
                remedy="close some of them; the others go on by themselves",
            )
        topic = self._topics.get(subject.key)
        if topic is None:
            topic = self._topics[subject.key] = Topic(subject, self._turns)
            topic.task = asyncio.create_task(topic.run())
        topic.readers += 1
        self.streams += 1
        try:
            yield topic
        finally:
            self.streams -= 1
            topic.readers -= 1
            if not topic.readers:
                del self._topics[subject.key]
                assert topic.task is not None
                topic.task.cancel()


@contextlib.asynccontextmanager
async def _never() -> AsyncIterator[asyncio.Event]:
    yield asyncio.Event()
