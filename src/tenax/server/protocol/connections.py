"""Limits the number of connections of a server, and the time in which each must make progress.

A request that arrives whole costs nothing here. A connection is watched only while its request is unfinished, and one timer serves all
connections.
"""

from __future__ import annotations

import asyncio
import resource
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Protocol

import structlog

from tenax.errors import Busy
from tenax.server.refusals import Refusals
from tenax.settings import Settings

SWEEP_EVERY = 1.0
"""The most seconds between two checks for connections whose timeout has passed."""
BODY_SPARED = 2.0
"""Seconds for which a connection with an unfinished body is not ended to make room for another one."""
FILES_RESERVED = 100
"""File descriptors that are kept free of connections, for the database, the log and the rest of the process."""

_log = structlog.get_logger("tenax.server")


class TooManyConnections(Busy):
    """One address has too many connections."""

    http_status = 429


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits what a client may send before it is authenticated."""

    max_head: int
    max_body: int
    head_timeout: float
    body_timeout: float
    total: int
    per_address: int

    @classmethod
    def of(cls, settings: Settings) -> ConnectionLimits:
        return cls(
            settings.max_head,
            settings.max_body,
            settings.head_timeout,
            settings.body_timeout,
            min(settings.max_connections, _room_for_files()),
            settings.max_connections_per_address,
        )


class Watched(Protocol):
    """Is a connection that must make progress."""

    address: str

    def handle_timeout(self, queue: TimeoutQueue) -> bool:
        """Ends the connection. Returns False if it has made progress instead: its time then starts again."""
        ...

    def make_room(self) -> None:
        """Ends the connection at once, to make room for another one."""
        ...


class TimeoutQueue:
    """Holds connections with the same timeout, in the order in which it ends for them."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.until: OrderedDict[Watched, float] = OrderedDict()

    def end_overdue(self, now: float) -> None:
        overdue = list(takewhile(lambda connection: self.until[connection] <= now, self.until))
        for connection in overdue:
            del self.until[connection]
            if not connection.handle_timeout(self):
                self.until[connection] = now + self.seconds


@dataclass(slots=True)
class _Address:
    count: int = 0
    heads: OrderedDict[Watched, None] = field(default_factory=OrderedDict)
    """The connections of the address with an unfinished head, the oldest first."""


class Connections:
    """Counts and watches all connections of one server."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.heads = TimeoutQueue(limits.head_timeout)
        self.bodies = TimeoutQueue(limits.body_timeout)
        self.answers = TimeoutQueue(limits.body_timeout)
        """Connections whose peer does not read its answers."""
        self._by_address: defaultdict[str, _Address] = defaultdict(_Address)
        self._total = 0
        self._sweep_every = min(SWEEP_EVERY, limits.head_timeout / 4, limits.body_timeout / 4)
        self._timer: asyncio.TimerHandle | None = None
        self.refusals = Refusals()

    def admit(self, connection: Watched) -> Busy | None:
        """Counts a new connection. Returns an error instead if there is no room and none can be made.

        To make room, the oldest connection with an unfinished request is ended: an honest client sends its head at once.
        """
        limits, address = self.limits, connection.address
        here = self._by_address[address]
        if here.count >= limits.per_address and not self._make_room(address):
            self.refusals.log("connections from one address are at their limit", address=address)
            return TooManyConnections(
                f"there are {here.count} connections from this address, and it may have {limits.per_address} "
                "(max_connections_per_address)",
                remedy="close some, or raise TENAX_MAX_CONNECTIONS_PER_ADDRESS on the server",
            )
        if self._total >= limits.total and not self._make_room(None):
            self.refusals.log("connections are at their limit", address=address)
            if not here.count:
                del self._by_address[address]
            return Busy(
                f"the server has {self._total} connections, and may have {limits.total} (max_connections)",
                remedy="try again in a moment, or raise TENAX_MAX_CONNECTIONS and the limit of open files on the server",
            )
        self._total += 1
        self._by_address[address].count += 1
        return None

    def leave(self, connection: Watched) -> None:
        self.unwatch(connection, self.heads, self.bodies, self.answers)
        self._total -= 1
        here = self._by_address[connection.address]
        here.count -= 1
        if not here.count:
            del self._by_address[connection.address]

    def watch(self, connection: Watched, queue: TimeoutQueue) -> None:
        """Starts the timeout of a connection. A connection that is in the queue already keeps its time."""
        if connection in queue.until:
            return
        loop = asyncio.get_running_loop()
        queue.until[connection] = loop.time() + queue.seconds
        if queue is self.heads:
            self._by_address[connection.address].heads[connection] = None
        if self._timer is None:
            self._timer = loop.call_later(self._sweep_every, self._sweep)

    def unwatch(self, connection: Watched, *queues: TimeoutQueue) -> None:
        for queue in queues:
            queue.until.pop(connection, None)
            if queue is self.heads:
                self._by_address[connection.address].heads.pop(connection, None)

    def _make_room(self, address: str | None) -> bool:
        """Ends an unfinished connection of this address, or of any address if it is None. Returns whether there was one."""
        heads = self.heads.until if address is None else self._by_address[address].heads
        oldest = next(iter(heads), None) or self._slow_body(address)
        if oldest is None:
            return False
        self.refusals.log("unfinished requests make room for new connections", address=oldest.address)
        oldest.make_room()
        return True

    def _slow_body(self, address: str | None) -> Watched | None:
        latest = asyncio.get_running_loop().time() + self.bodies.seconds - BODY_SPARED
        for connection, until in self.bodies.until.items():
            if until > latest:
                return None
            if address in (None, connection.address):
                return connection
        return None

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        for queue in (self.heads, self.bodies, self.answers):
            queue.end_overdue(loop.time())
        watching = self.heads.until or self.bodies.until or self.answers.until
        self._timer = loop.call_later(self._sweep_every, self._sweep) if watching else None


def _room_for_files() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(soft - FILES_RESERVED, soft // 2) if soft != resource.RLIM_INFINITY else 2**31
