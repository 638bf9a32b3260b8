"""Runs a TCP proxy before PostgreSQL that breaks connections: after random numbers of bytes, or when a test says so."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.parse import parse_qs, quote, urlsplit

SHORTEST, LONGEST = 1, 6000
"""Bytes after which a connection breaks."""


class LossyProxy:
    """Passes on the data between clients and PostgreSQL, until it breaks their connection."""

    def __init__(self, database_url: str, *, seed: int | None = None, lost: float = 0.5) -> None:
        """Prepares the proxy. With `seed`, this share (`lost`) of the connections breaks after random numbers of bytes.

        Without it none does.
        """
        parts = urlsplit(database_url)
        place = parse_qs(parts.query)
        self._path = f"{place['host'][0]}/.s.PGSQL.{place.get('port', ['5432'])[0]}"
        self._name, self._user = parts.path, parts.username or "tenax"
        self._dice = random.Random(seed) if seed is not None else None
        self._lost = lost
        self._writers: set[asyncio.StreamWriter] = set()
        self.refuses = 0
        """The number of next connections that are broken at once."""
        self.broken = 0
        self.messages = 0
        """The number of pieces that clients have sent."""
        self.on_message: Callable[[int], Awaitable[None]] | None = None
        """Called with the number of each piece, before it is passed on."""
        self.url = ""

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[LossyProxy]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        self.url = f"postgresql://{quote(self._user)}@127.0.0.1:{port}{self._name}?sslmode=disable"
        try:
            yield self
        finally:
            server.close()
            self.break_all()

    def break_all(self) -> None:
        """Breaks every connection without closing it."""
        for writer in self._writers:
            writer.transport.abort()
        self.broken += len(self._writers)
        self._writers.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refuses:
            self.refuses -= 1
            writer.transport.abort()
            return
        try:
            there, onward = await asyncio.open_unix_connection(self._path)
        except OSError:
            writer.transport.abort()
            return
        left = [self._bytes_to_live()]
        pair = (writer, onward)
        self._writers.update(pair)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pass_on(reader, onward, pair, left, counted=True))
                both.create_task(self._pass_on(there, writer, pair, left, counted=False))
        finally:
            for one in pair:
                one.transport.abort()
                self._writers.discard(one)

    def _bytes_to_live(self) -> int | None:
        if self._dice is None or self._dice.random() >= self._lost:
            return None
        return self._dice.randint(SHORTEST, LONGEST)

    async def _pass_on(
        self,
        source: asyncio.StreamReader,
        target: asyncio.StreamWriter,
        pair: tuple[asyncio.StreamWriter, ...],
        left: list[int | None],
        *,
        counted: bool,
    ) -> None:
        with contextlib.suppress(OSError):
            while piece := await source.read(65536):
                if counted:
                    self.messages += 1
                    if self.on_message is not None:
                        await self.on_message(self.messages)
                if left[0] is not None and len(piece) >= left[0]:
                    target.write(piece[: left[0]])
                    self.broken += 1
                    break
                if left[0] is not None:
                    left[0] -= len(piece)
                target.write(piece)
                await target.drain()
        for one in pair:
            one.transport.abort()
