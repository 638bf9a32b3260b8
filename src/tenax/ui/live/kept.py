"""Keeps what slow reads have found, for all requests of a server. It is read again in the background."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from dataclasses import dataclass
from datetime import UTC, datetime
from time import perf_counter
from typing import Any, Generic, TypeVar

import structlog

from tenax.errors import TenaxError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
LEAST_AGE = 1.0  # seconds for which a reading is new
MOST_AGE = 10.0  # seconds after which even an expensive reading is old
PAUSE_FOR_COST = 50
"""A reading is new for this many times the seconds that it took, within these bounds: what is expensive is read more seldom."""
PATIENCE = 0.04  # seconds for which a request waits for the first reading
MOST_KEPT = 64  # kinds of readings
_log = structlog.get_logger("tenax.ui")


@dataclass(frozen=True, slots=True)
class KeptReading(Generic[T_co]):
    value: T_co
    at: datetime
    """When it was begun, by the clock of this server."""


def value_of(reading: KeptReading[T] | None) -> T | None:
    return None if reading is None else reading.value


class _Kept(Generic[T]):
    """Holds the newest reading of one kind."""

    def __init__(self) -> None:
        self.reading: KeptReading[T] | None = None
        self.error: TenaxError | None = None
        """Says why the last try failed."""
        self.task: asyncio.Task[None] | None = None
        self.new_until = 0.0

    @property
    def is_due(self) -> bool:
        return self.task is None and perf_counter() >= self.new_until


class KeptReadings:
    """Holds readings by their kind. Those that were asked for longest ago are dropped."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, _Kept[Any]] = OrderedDict()
        self._followers: set[asyncio.Event] = set()

    async def newest(self, kind: Hashable, read: Callable[[], Awaitable[T]]) -> KeptReading[T] | None:
        """Returns the newest reading, and has it read again if it is old. No request waits for that.

        The first reading of a kind is waited for, but not long: returns None if it takes longer. Raises the error of the last try.
        """
        kept = self._kept.setdefault(kind, _Kept[T]())
        self._kept.move_to_end(kind)
        if kept.is_due:
            kept.task = asyncio.create_task(self._read(kept, read))
        if kept.reading is None and kept.task is not None:
            await asyncio.wait([kept.task], timeout=PATIENCE)
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        if kept.error is not None:
            raise kept.error
        return kept.reading

    @contextlib.asynccontextmanager
    async def changes(self) -> AsyncIterator[asyncio.Event]:
        """Opens an event that is set whenever something was read."""
        event = asyncio.Event()
        self._followers.add(event)
        try:
            yield event
        finally:
            self._followers.discard(event)

    async def _read(self, kept: _Kept[T], read: Callable[[], Awaitable[T]]) -> None:
        at, began = datetime.now(UTC), perf_counter()
        try:
            kept.reading, kept.error = KeptReading(await read(), at), None
        except TenaxError as error:
            kept.error = error
        except Exception:  # noqa: BLE001 -- the next try may succeed: the page says that it failed, the log says why
            _log.exception("a reading of the dashboard failed")
            kept.error = TenaxError("the server failed to read this page's figures; its log says why")
        finally:
            now = perf_counter()
            kept.new_until = now + min(max(LEAST_AGE, PAUSE_FOR_COST * (now - began)), MOST_AGE)
            kept.task = None
        for event in self._followers:
            event.set()
