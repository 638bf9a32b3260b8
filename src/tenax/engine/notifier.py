"""Tells the rest of this server and the other servers about each commit: the dispatcher, the timers, and callers that
follow an execution."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from tenax.engine.server_news import NewsReader, ServerNews
from tenax.errors import Unreachable
from tenax.model.changes import Loss, Run
from tenax.store.connect import Database
from tenax.store.journal import Journal
from tenax.store.notify import listen, notify

QUIET = 0.02
"""Seconds between two messages to the other servers at heavy load. At light load messages go out at once."""
IDLE_TALK = 0.1
"""Seconds between two messages that only callers who follow an execution need."""
TALK_AFTER = 0.005
"""Seconds by which such a message is delayed at light load, so that it does not delay the work that it tells about."""
PAUSE = 0.5
"""Seconds before another try while the database is away."""


class WorkerEffects(NamedTuple):
    """Holds the effects of a commit on workers."""

    runs: Sequence[Run]
    losses: Sequence[Loss] = ()
    pardons: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Listeners:
    """Holds the functions that a notifier calls. `Parts` makes the only ones that do something."""

    ready: Callable[[], None]
    """There may be work to lease."""
    restricted: Callable[[], None]
    """There may be items that only some workers are able to run, or limits have changed."""
    fleet: Callable[[], None]
    """A worker has registered, or its state has changed."""
    server_steps: Callable[[], None]
    """A step of the server's own may be ready."""
    messages: Callable[[], None]
    """There may be messages in the inbox."""
    due: Callable[[float], None]
    """Something is due in this many seconds."""
    connected: Callable[[], None]
    """The connection that listens to the other servers was made anew. Messages may have been missed."""
    worker_effects: Callable[[WorkerEffects], bool]
    """Attempts have ended. Returns True if their workers have room for more now."""
    handed_back: Callable[[str, Sequence[int]], None]
    """A worker has handed back these items."""
    requests: Callable[[], None]
    """Applications may have submitted executions in their own transactions."""


NOBODY = Listeners(
    ready=lambda: None,
    restricted=lambda: None,
    fleet=lambda: None,
    server_steps=lambda: None,
    messages=lambda: None,
    due=lambda _seconds: None,
    connected=lambda: None,
    worker_effects=lambda _effects: False,
    handed_back=lambda _worker, _items: None,
    requests=lambda: None,
)
"""Listeners that do nothing, for a notifier that is only used to follow executions and to announce news."""


class Notifier:
    """Spreads the effects of commits. A lost message delays work until the next sweep but loses none: the database has
    everything."""

    def __init__(self, database: Database, listeners: Listeners = NOBODY) -> None:
        self._database = database
        self._name = uuid.uuid4().hex
        self._reader = NewsReader(self._name)
        self._news = ServerNews()
        self._unsent = asyncio.Event()
        self._soon: asyncio.TimerHandle | None = None
        self._followers: dict[int, set[asyncio.Event]] = {}
        self._follow_all: set[asyncio.Event] = set()
        self.listeners = listeners

    def tell(self, listeners: Listeners) -> None:
        """Calls these listeners from now on, and no others."""
        self.listeners = listeners

    def wake(self, *, server_steps: bool = True, messages: bool = True) -> None:
        """Wakes the loops of this server because something is due. The other servers have timers of their own."""
        self._apply(ServerNews(ready=True, server_steps=server_steps, messages=messages), set())

    def announce(
        self,
        *,
        ready: bool = False,
        restricted: bool = False,
        fleet: bool = False,
        server_steps: bool = False,
        messages: bool = False,
        due_in: float | None = None,
        executions: Iterable[int] = (),
    ) -> None:
        fresh = ServerNews(ready, restricted, fleet, server_steps, messages, due_in, set(executions))
        self._apply(fresh, fresh.executions)
        self._news.add(fresh)
        if fresh.urgent:
            self._unsent.set()
        elif fresh.executions and self._soon is None and not self._unsent.is_set():
            self._soon = asyncio.get_running_loop().call_later(TALK_AFTER, self._unsent.set)

    @contextlib.asynccontextmanager
    async def following(self, execution_id: int) -> AsyncIterator[asyncio.Event]:
        """Yields an event that is set whenever the execution has changed."""
        changed = asyncio.Event()
        self._followers.setdefault(execution_id, set()).add(changed)
        try:
            yield changed
        finally:
            self._followers[execution_id].discard(changed)
            if not self._followers[execution_id]:
                del self._followers[execution_id]

    @contextlib.asynccontextmanager
    async def following_all(self) -> AsyncIterator[asyncio.Event]:
        """Yields an event that is set whenever any execution has changed, or a new one may have work."""
        changed = asyncio.Event()
        self._follow_all.add(changed)
        try:
            yield changed
        finally:
            self._follow_all.discard(changed)

    async def send(self) -> None:
        """Sends news to the other servers, in as few messages as possible."""
        while True:
            await self._unsent.wait()
            urgent = self._news.urgent
            with contextlib.suppress(Unreachable):
                await self.flush()
            await asyncio.sleep(QUIET if urgent else IDLE_TALK)

    async def flush(self) -> None:
        """Sends the unsent news now, for a command that ends before the loop would send it."""
        if self._soon is not None:
            self._soon.cancel()
        elif not self._unsent.is_set():
            return
        self._soon = None
        self._unsent.clear()
        news, self._news = self._news, ServerNews()
        await notify(self._database, news.as_text(self._name))

    async def receive(self) -> None:
        """Receives messages from the other servers. After a lost connection messages may have been missed, so
        everything is checked."""
        async for message in listen(self._database):
            if message is None:
                self.listeners.connected()
                self._apply(ServerNews(True, True, True, True, True, 0.0, requests=True), None)
                continue
            if (heard := self._reader.read(message)) is not None:
                self._apply(heard.news, heard.executions)

    def _apply(self, news: ServerNews, executions: set[int] | None) -> None:
        """Calls the functions that the news concern. `executions` None means that any execution may have changed."""
        listeners = self.listeners
        if news.restricted:
            listeners.restricted()
        if news.fleet:
            listeners.fleet()
        if news.ready:
            listeners.ready()
        if news.server_steps:
            listeners.server_steps()
        if news.messages:
            listeners.messages()
        if news.due_in is not None:
            listeners.due(news.due_in)
        if news.requests:
            listeners.requests()
        self._tell_followers(executions, new=news.ready or news.restricted)

    def _tell_followers(self, executions: set[int] | None, *, new: bool) -> None:
        """Wakes the callers that follow executions. Submissions announce their work (`new`) and not their ids: nobody can follow them
        one by one yet."""
        if new or executions or executions is None:
            for changed in self._follow_all:
                changed.set()
        for execution_id, events in self._followers.items():
            if executions is None or execution_id in executions:
                for changed in events:
                    changed.set()


async def whenever(wake: asyncio.Event, work: Callable[[], Awaitable[int]]) -> NoReturn:
    """Runs `work` each time it is woken, until nothing is left to do. It runs again when the database is back."""
    while True:
        await wake.wait()
        wake.clear()
        try:
            while await work():
                pass
        except Unreachable:
            await asyncio.sleep(PAUSE)
            wake.set()


def announce(notifier: Notifier, journal: Journal, delays: Iterable[float] = ()) -> None:
    """Announces the effects of a committed journal."""
    made_room = notifier.listeners.worker_effects(
        WorkerEffects(journal.runs, journal.losses, journal.pardons)
    )
    notifier.announce(
        ready=journal.ready or made_room or bool(journal.freed_limits),
        restricted=journal.has_restricted_items,
        server_steps=journal.server_ready,
        messages=journal.messages,
        due_in=min((*delays, *journal.queue_times), default=None),
        executions=journal.events.keys(),
    )
