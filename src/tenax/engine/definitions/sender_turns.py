"""Divides the reader processes among senders by turns: one sender can neither take all of them, nor make the
others wait for all of its work."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import AsyncIterator, Hashable, Iterator
from contextvars import ContextVar
from typing import TypeAlias

Sender: TypeAlias = tuple[str, Hashable]
"""The kind of a sender (a caller of the server, or an execution that starts children), and the identity of the
sender."""
_sender: ContextVar[Sender] = ContextVar("tenax_sender", default=("server", None))


@contextlib.contextmanager
def sent_by(kind: str, who: Hashable) -> Iterator[None]:
    """Sets the sender of all work that begins within the block."""
    token = _sender.set((kind, who))
    try:
        yield
    finally:
        _sender.reset(token)


class SenderTurns:
    """Divides a few processes among senders by turns: first the kinds of senders, then the senders of a kind.
    One sender gets at most all processes but one."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._most_of_one = max(1, places - 1)
        self._taken: Counter[Sender] = Counter()
        self._waiting: dict[Sender, deque[asyncio.Future[None]]] = {}
        self._clock = 0
        self._kind_turns: dict[str, int] = {}
        """The last turn of each kind."""
        self._turns: dict[Sender, int] = {}
        """The last turn of each waiting sender, or its arrival."""

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Waits for a process for the current sender, who keeps it until the block ends."""
        sender = _sender.get()
        await self._take(sender)
        try:
            yield
        finally:
            self._give_back(sender)

    async def _take(self, sender: Sender) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(sender, deque()).append(turn)
        self._turns.setdefault(sender, self._tick())
        self._hand_out()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # the sender was given a process and had not seen it yet
                self._give_back(sender)
            raise

    def _give_back(self, sender: Sender) -> None:
        self._taken -= Counter([sender])  # a sender that has no process is forgotten
        self._free += 1
        self._hand_out()

    def _hand_out(self) -> None:
        """Gives each free process to the sender whose turn it is."""
        while self._free and (sender := self._next_sender()) is not None:
            turn = self._waiting[sender].popleft()
            self._turns[sender] = self._kind_turns[sender[0]] = self._tick()
            if not turn.done():  # otherwise it was cancelled meanwhile
                self._free -= 1
                self._taken[sender] += 1
                turn.set_result(None)
            if not self._waiting[sender]:
                del self._waiting[sender], self._turns[sender]

    def _next_sender(self) -> Sender | None:
        able = [sender for sender in self._waiting if self._taken[sender] < self._most_of_one]
        return min(able, key=lambda one: (self._kind_turns.get(one[0], 0), self._turns[one]), default=None)

    def _tick(self) -> int:
        self._clock += 1
        return self._clock
