"""Who must hear of a commit: the dispatcher, the timers, those who follow an execution; here and in other servers."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from tenax.errors import Unreachable
from tenax.store.connect import Database
from tenax.store.journal import Journal
from tenax.store.notify import listen, notify

QUIET = 0.02
"""Seconds between two notifications to the other servers at heavy load; at light load they go out at once."""
IDS_IN_A_MESSAGE = 50


@dataclass(slots=True)
class News:
    """What has changed since the last message to the other servers."""

    ready: bool = False
    refused: bool = False
    messages: bool = False
    due_in: float | None = None
    executions: set[int] = field(default_factory=set)

    def as_text(self, sender: str) -> str:
        ids: Any = sorted(self.executions) if len(self.executions) <= IDS_IN_A_MESSAGE else "*"
        body = {
            "from": sender,
            "ready": self.ready,
            "refused": self.refused,
            "messages": self.messages,
            "due_in": self.due_in,
            "executions": ids,
        }
        return orjson.dumps(body).decode()


class Hub:
    """Effects after commit. A message that is lost costs a sweep's time, never work: the database has it all."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._name = uuid.uuid4().hex
        self._news = News()
        self._unsent = asyncio.Event()
        self._followers: dict[int, set[asyncio.Event]] = {}
        self._on_ready: list[Callable[[], None]] = []
        self._on_messages: list[Callable[[], None]] = []
        self.on_refused: Callable[[], None] = lambda: None
        self.on_due: Callable[[float], None] = lambda _seconds: None

    def when_ready(self, wake: Callable[[], None]) -> None:
        """To be called whenever there may be something to start."""
        self._on_ready.append(wake)

    def when_messages(self, wake: Callable[[], None]) -> None:
        """To be called whenever there may be something in the inbox."""
        self._on_messages.append(wake)

    def wake(self) -> None:
        """Everything looks for itself: a time has come, or a sweep."""
        self._apply(ready=True, refused=False, messages=True, due_in=None, executions=set())

    def announce(
        self,
        *,
        ready: bool = False,
        refused: bool = False,
        messages: bool = False,
        due_in: float | None = None,
        executions: Iterable[int] = (),
    ) -> None:
        ids = set(executions)
        self._apply(ready=ready, refused=refused, messages=messages, due_in=due_in, executions=ids)
        news = self._news
        news.ready |= ready
        news.refused |= refused
        news.messages |= messages
        if due_in is not None:
            news.due_in = due_in if news.due_in is None else min(news.due_in, due_in)
        news.executions |= ids
        self._unsent.set()

    @contextlib.asynccontextmanager
    async def following(self, execution_id: int) -> AsyncIterator[asyncio.Event]:
        """An event that is set whenever something has happened to the execution."""
        changed = asyncio.Event()
        self._followers.setdefault(execution_id, set()).add(changed)
        try:
            yield changed
        finally:
            self._followers[execution_id].discard(changed)
            if not self._followers[execution_id]:
                del self._followers[execution_id]

    async def send(self) -> None:
        """Tells the other servers, in as few messages as can be."""
        while True:
            await self._unsent.wait()
            with contextlib.suppress(Unreachable):
                await self.flush()
            await asyncio.sleep(QUIET)

    async def flush(self) -> None:
        """Sends what is unsent now: for a command that ends before the loop would."""
        if self._unsent.is_set():
            self._unsent.clear()
            news, self._news = self._news, News()
            await notify(self._database, news.as_text(self._name))

    async def receive(self) -> None:
        """Hears what the other servers tell. After a lost connection anything may have been missed: look at all."""
        async for message in listen(self._database):
            if message is None:
                self._apply(ready=True, refused=True, messages=True, due_in=0.0, executions=None)
                continue
            body = orjson.loads(message)
            if body["from"] != self._name:
                ids = None if body["executions"] == "*" else set(body["executions"])
                self._apply(
                    ready=body["ready"],
                    refused=body["refused"],
                    messages=body.get("messages", False),
                    due_in=body["due_in"],
                    executions=ids,
                )

    def _apply(
        self,
        *,
        ready: bool,
        refused: bool,
        messages: bool,
        due_in: float | None,
        executions: set[int] | None,
    ) -> None:
        if refused:
            self.on_refused()
        for wake in self._on_ready if ready else ():
            wake()
        for wake in self._on_messages if messages else ():
            wake()
        if due_in is not None:
            self.on_due(due_in)
        if self._followers:
            for execution_id, events in self._followers.items():
                if executions is None or execution_id in executions:
                    for changed in events:
                        changed.set()


def announce(hub: Hub, journal: Journal, delays: Iterable[float] = ()) -> None:
    """What everyone must hear of a journal that has been committed."""
    hub.announce(
        ready=journal.ready,
        messages=journal.messages,
        due_in=min(delays, default=None),
        executions=journal.events.keys(),
    )
