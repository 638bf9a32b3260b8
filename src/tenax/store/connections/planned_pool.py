"""Is a pool of connections for planned statements, which use indexes whatever the tables hold.

The driver's pool makes a task whenever a connection is released. At light load that takes as long as the statement.
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
"""Session settings for statements in which every join uses an index, row by row. They are planned once for each session.

Planning would otherwise be most of the cost of a small batch.
"""
MOST = 5  # connections that are opened at the same time
_PLANS_LAST = 1.0
"""Seconds after which a session drops its plans. Otherwise a plan made while a table was empty would stay when the
table fills up."""
_KEPT_SECONDS = 300.0
"""Seconds after which an idle connection is not used again: a firewall on the way may have dropped it."""
_CLOSE_SECONDS = 5.0  # limit for closing a connection


class PlannedPool:
    """Opens connections in advance or on demand. The connection that was used last is used next, since its caches are
    warm."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]], most: int = MOST) -> None:
        self._connect = connect
        self._most = most
        self._open: dict[Connection, float] = {}
        """The open connections, with the time at which each last dropped its plans."""
        self._opening = 0
        self._free: list[tuple[Connection, float]] = []
        """The free connections, each with the time since when it is free."""
        self._waiting: deque[asyncio.Future[Connection | None]] = deque()
        self._closed = False
        self._all_ended = asyncio.Event()

    def acquire(self) -> _Use:
        """Lends a connection for the block. An exception in the block other than an error of PostgreSQL closes the
        connection, which ends the statement."""
        return _Use(self)

    def get_size(self) -> int:
        return len(self._open)

    async def open_ahead(self) -> None:
        """Opens all connections in advance. Otherwise the first callers that need several at once would wait. A
        connection that cannot be opened now is tried again when it is needed."""
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
        """Waits for the connections in use, and closes all."""
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
        """Gives a connection to the caller that has waited longest, or None if the caller may open a new connection."""
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
            if not turn.cancelled():  # the caller was given a connection and had not used it yet
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
        """Closes a connection. The driver waits for the end of a cancelled statement, so that its effect is known
        afterwards."""
        try:
            await connection.close(timeout=_CLOSE_SECONDS)
        except Exception:  # noqa: BLE001 -- the connection must end in any case
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
    return asyncpg.InterfaceError("the planned sessions are closed")


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
