"""Straight sessions: a few connections for statements that follow their indexes, whatever the tables hold.

A pool of our own: the driver's makes a task whenever a connection is given back, and at light load that takes as long as what
was done with it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TypeAlias

import asyncpg

Connection: TypeAlias = asyncpg.Connection

PLANNED_SESSION = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}
"""For statements whose every join follows an index, row by row: they are planned once for a session, and not each time. That is most
of what a small batch would cost."""
MOST = 4
_PLANS_LAST = 1.0
"""Seconds. A plan that was made while a table was empty is not kept when it fills up: nobody else would tell the session."""
_KEPT_SECONDS = 300.0
"""One that was free for longer is not used again: something on the way may have forgotten it."""
_CLOSE_SECONDS = 5.0


class PlannedPool:
    """Opened ahead, or as they are needed. The one that was used last is used next: what it needs is still at hand."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]], most: int = MOST) -> None:
        self._connect = connect
        self._most = most
        self._open: dict[Connection, float] = {}
        """With the time at which it last let go of its plans."""
        self._opening = 0
        self._free: list[tuple[Connection, float]] = []
        """Since when."""
        self._waiting: deque[asyncio.Future[Connection | None]] = deque()
        self._closed = False
        self._all_ended = asyncio.Event()

    def acquire(self) -> _Use:
        """A session, while the block lasts. What breaks off within it ends its connection, and with that the statement."""
        return _Use(self)

    def get_size(self) -> int:
        return len(self._open)

    async def open_ahead(self) -> None:
        """As many as there may be: else the first that need several at once would wait for them to be made. One that cannot be had
        now is tried for again when it is needed."""
        missing = self._most - self.get_size()
        await asyncio.gather(*(self._add_one() for _ in range(missing)), return_exceptions=True)

    async def take(self) -> Connection:
        while not self._closed:
            connection = self._free_one()
            if connection is None and len(self._open) + self._opening < self._most:
                return await self._open_one()
            connection = connection or await self._next_turn()
            if connection is not None:
                return await self._plan_anew(connection)
        raise _closed()

    async def give_back(self, connection: Connection, *, sound: bool) -> None:
        if sound and not self._closed and not connection.is_closed():
            self._set_free(connection)
        else:
            await asyncio.shield(self._end(connection))

    async def close(self) -> None:
        """Waits for those that are used."""
        self._closed = True
        while self._hand_on(None):
            pass
        while self._free:
            await self._end(self._free.pop()[0])
        if self._open or self._opening:
            await self._all_ended.wait()

    def terminate(self) -> None:
        self._closed = True
        for connection in self._open:
            connection.terminate()

    def _free_one(self) -> Connection | None:
        while self._free:
            connection, since = self._free.pop()
            if not connection.is_closed() and _now() - since < _KEPT_SECONDS:
                return connection
            connection.terminate()
            self._forget(connection)
        return None

    def _set_free(self, connection: Connection) -> None:
        if not self._hand_on(connection):
            self._free.append((connection, _now()))

    def _hand_on(self, connection: Connection | None) -> bool:
        """To whoever has waited for the longest; nothing: there may be room for another one."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(connection)
                return True
        return False

    async def _next_turn(self) -> Connection | None:
        turn: asyncio.Future[Connection | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it had its turn, and did not know it yet
                given = turn.result()
                if given is None:
                    self._hand_on(None)
                else:
                    self._set_free(given)
            raise

    async def _add_one(self) -> None:
        self._set_free(await self._open_one())

    async def _open_one(self) -> Connection:
        self._opening += 1
        try:
            connection = await self._connect()
        except BaseException:
            self._opening -= 1
            self._note_room()
            raise
        self._opening -= 1
        self._open[connection] = _now()
        if self._closed:
            await asyncio.shield(self._end(connection))
            raise _closed()
        return connection

    async def _plan_anew(self, connection: Connection) -> Connection:
        if _now() - self._open[connection] >= _PLANS_LAST:
            self._open[connection] = _now()
            try:
                await connection.execute("discard plans")
            except BaseException:
                await self.give_back(connection, sound=False)
                raise
        return connection

    async def _end(self, connection: Connection) -> None:
        """The driver waits here for the end of a statement that was broken off: whatever it wrote is known then."""
        try:
            await connection.close(timeout=_CLOSE_SECONDS)
        except Exception:  # noqa: BLE001 -- it is to end, in good order or not
            connection.terminate()
        finally:
            self._forget(connection)

    def _forget(self, connection: Connection) -> None:
        self._open.pop(connection, None)
        self._note_room()

    def _note_room(self) -> None:
        self._hand_on(None)
        if self._closed and not self._open and not self._opening:
            self._all_ended.set()


def _now() -> float:
    return asyncio.get_running_loop().time()


def _closed() -> asyncpg.InterfaceError:
    return asyncpg.InterfaceError("the straight sessions are closed")


class _Use:
    __slots__ = ("_connection", "_sessions")

    def __init__(self, sessions: PlannedPool) -> None:
        self._sessions = sessions

    async def __aenter__(self) -> Connection:
        self._connection = await self._sessions.take()
        return self._connection

    async def __aexit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        sound = error is None or isinstance(error, asyncpg.PostgresError)
        await self._sessions.give_back(self._connection, sound=sound)
