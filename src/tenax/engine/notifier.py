"""Who must hear of a commit: the dispatcher, the timers, those who follow an execution; here and in other servers."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from tenax.engine.server_news import News, Reader
from tenax.errors import Unreachable
from tenax.model.changes import Loss, Run
from tenax.store.connect import Database
from tenax.store.journal import Journal
from tenax.store.notify import listen, notify

QUIET = 0.02
"""Seconds between two notifications to the other servers at heavy load; at light load they go out at once."""
IDLE_TALK = 0.1
"""The same where there was nothing for them to do: only those hear it who follow an execution."""
TALK_AFTER = 0.005
"""Seconds for which such news wait at light load: what they tell of is on its way to a worker, and must not wait for them."""
PAUSE = 0.5
"""Seconds before something is tried again while the database is away."""


class Settled(NamedTuple):
    """What a commit says of workers."""

    runs: Sequence[Run]
    losses: Sequence[Loss] = ()
    pardons: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Listeners:
    """Whom a hub tells what. `Engine` makes the only ones: whoever wants to know who hears of what finds it there."""

    ready: Callable[[], None]
    """There may be something to lease."""
    special: Callable[[], None]
    """There may be items that not every worker is able to run, or limits have changed."""
    fleet: Callable[[], None]
    """A worker has registered, or stands otherwise now."""
    server_steps: Callable[[], None]
    """The server may have a step of its own to start."""
    messages: Callable[[], None]
    """There may be something in the inbox."""
    due: Callable[[float], None]
    """Something falls due in so many seconds."""
    connected: Callable[[], None]
    """The connection on which other servers are heard was made anew: anything may have been missed."""
    settled: Callable[[Settled], bool]
    """Attempts have ended. Returns True if their workers have room for more now."""
    handed_back: Callable[[str, Sequence[int]], None]
    """A worker has handed back these items."""


NOBODY = Listeners(
    ready=lambda: None,
    special=lambda: None,
    fleet=lambda: None,
    server_steps=lambda: None,
    messages=lambda: None,
    due=lambda _seconds: None,
    connected=lambda: None,
    settled=lambda _settled: False,
    handed_back=lambda _worker, _items: None,
)
"""For a hub that only follows and announces."""


class Hub:
    """Effects after commit. A message that is lost costs a sweep's time, never work: the database has it all."""

    def __init__(self, database: Database, listeners: Listeners = NOBODY) -> None:
        self._database = database
        self._name = uuid.uuid4().hex
        self._reader = Reader(self._name)
        self._news = News()
        self._unsent = asyncio.Event()
        self._soon: asyncio.TimerHandle | None = None
        self._followers: dict[int, set[asyncio.Event]] = {}
        self._follow_all: set[asyncio.Event] = set()
        self.listeners = listeners

    def tell(self, listeners: Listeners) -> None:
        """Tells these from now on, and nobody else."""
        self.listeners = listeners

    def wake(self, *, server_steps: bool = True, messages: bool = True) -> None:
        """A time has come, or a sweep: look for work, here. The other servers have clocks of their own."""
        self._apply(News(ready=True, server_steps=server_steps, messages=messages), set())

    def announce(
        self,
        *,
        ready: bool = False,
        special: bool = False,
        fleet: bool = False,
        server_steps: bool = False,
        messages: bool = False,
        due_in: float | None = None,
        executions: Iterable[int] = (),
    ) -> None:
        fresh = News(ready, special, fleet, server_steps, messages, due_in, set(executions))
        self._apply(fresh, fresh.executions)
        self._news.add(fresh)
        if fresh.urgent:
            self._unsent.set()
        elif fresh.executions and self._soon is None and not self._unsent.is_set():
            self._soon = asyncio.get_running_loop().call_later(TALK_AFTER, self._unsent.set)

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

    @contextlib.asynccontextmanager
    async def following_all(self) -> AsyncIterator[asyncio.Event]:
        """The same for whatever happens to any execution."""
        changed = asyncio.Event()
        self._follow_all.add(changed)
        try:
            yield changed
        finally:
            self._follow_all.discard(changed)

    async def send(self) -> None:
        """Tells the other servers, in as few messages as can be."""
        while True:
            await self._unsent.wait()
            urgent = self._news.urgent
            with contextlib.suppress(Unreachable):
                await self.flush()
            await asyncio.sleep(QUIET if urgent else IDLE_TALK)

    async def flush(self) -> None:
        """Sends what is unsent now: for a command that ends before the loop would."""
        if self._soon is not None:
            self._soon.cancel()
        elif not self._unsent.is_set():
            return
        self._soon = None
        self._unsent.clear()
        news, self._news = self._news, News()
        await notify(self._database, news.as_text(self._name))

    async def receive(self) -> None:
        """Hears what the other servers tell. After a lost connection anything may have been missed: look at all."""
        async for message in listen(self._database):
            if message is None:
                self.listeners.connected()
                self._apply(News(True, True, True, True, True, 0.0), None)
                continue
            if (heard := self._reader.read(message)) is not None:
                self._apply(heard.news, heard.executions)

    def _apply(self, news: News, executions: set[int] | None) -> None:
        """`executions` None: any may have changed."""
        listeners = self.listeners
        if news.special:
            listeners.special()
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
        for changed in self._follow_all if executions or executions is None else ():
            changed.set()
        if self._followers:
            for execution_id, events in self._followers.items():
                if executions is None or execution_id in executions:
                    for changed in events:
                        changed.set()


async def whenever(wake: asyncio.Event, work: Callable[[], Awaitable[int]]) -> NoReturn:
    """Works, for as long as there is something to do, each time it is woken; and again when the database is back."""
    while True:
        await wake.wait()
        wake.clear()
        try:
            while await work():
                pass
        except Unreachable:
            await asyncio.sleep(PAUSE)
            wake.set()


def announce(hub: Hub, journal: Journal, delays: Iterable[float] = ()) -> None:
    """What everyone must hear of a journal that has been committed."""
    made_room = hub.listeners.settled(Settled(journal.runs, journal.losses, journal.pardons))
    hub.announce(
        ready=journal.ready or made_room or bool(journal.freed_limits),
        special=journal.out_of_the_common,
        server_steps=journal.server_ready,
        messages=journal.messages,
        due_in=min((*delays, *journal.queue_times), default=None),
        executions=journal.events.keys(),
    )
