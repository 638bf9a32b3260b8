"""Requests to one server over HTTP/1.1, on connections that are kept.

Written by hand, for a worker's every lease and report goes through here: a request costs an eighth of what httpx takes for
it, and there is no need to import that.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import SplitResult, quote, unquote, urlencode, urlsplit

import httptools

from tenax.errors import UsageError
from tenax.model.attempt.outcome import Connection
from tenax.sdk.causes import chain, kind_of_causes

if TYPE_CHECKING:
    import ssl

KEPT_SECONDS = 25.0
"""How long a connection is kept unused: from one heartbeat to the next, and less than a Tenax server keeps it."""
ADDRESS_SECONDS = 1.0
"""How long one of several network addresses of a host is tried before the next."""
_PORTS = {"http": 80, "https": 443}


class NoAnswer(Exception):
    """There was no answer, or none that can be read. `sent`: the request may have been heard all the same."""

    def __init__(self, kind: Connection, *, sent: bool) -> None:
        super().__init__(kind)
        self.kind = kind
        self.sent = sent


@dataclass(slots=True)
class Answer:
    method: str
    url: str
    status_code: int = 0
    reason: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    """By their names in small letters."""
    content: bytes = b""

    @property
    def is_success(self) -> bool:
        return 200 <= self.status_code < 300


class Exchange:
    """One server. Requests that are made at the same time have connections of their own."""

    def __init__(self, address: str, headers: Mapping[str, str]) -> None:
        """ValueError: the address is not the URL of a server."""
        parts = urlsplit(address)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ValueError("it must start with http:// or https:// and name a host")
        self._address = without_password(address)
        self._path = quote(parts.path, safe="/%:@!$&'()*+,;=~")
        self._host = parts.hostname
        self._port = parts.port or _PORTS[parts.scheme]
        self._tls = parts.scheme == "https"
        self._context: ssl.SSLContext | None = None
        self._fixed = _lines(_own_headers(parts) | dict(headers))
        self._idle: list[_Connection] = []
        self._open: set[_Connection] = set()

    async def request(
        self,
        method: str,
        path: str,
        *,
        content: bytes | None = None,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float,  # noqa: ASYNC109 - between two signs of life, not for the whole
        connect: float,
    ) -> Answer:
        """The answer, whatever its status. Raises `NoAnswer`."""
        target = self._path + path + (f"?{urlencode(params)}" if params else "")
        head = f"{method} {target} HTTP/1.1\r\n{self._fixed}{_lines(headers) if headers else ''}"
        if content is not None or method != "GET":
            head += f"content-length: {len(content or b'')}\r\n"
        connection = self._kept() or await self._connect(connect)
        try:
            answer = Answer(method, self._address + path)
            await connection.ask(b"%b\r\n%b" % (head.encode("ascii"), content or b""), answer, timeout)
        except BaseException:
            connection.end()  # an answer that comes later must not be taken for that of the next request
            raise
        if connection.is_reusable:
            self._idle.append(connection)
        else:
            connection.end()
        return answer

    async def close(self) -> None:
        connections = list(self._open)
        for connection in connections:
            connection.end()
        for connection in connections:
            await connection.over.wait()

    def _kept(self) -> _Connection | None:
        """The one that was used last; those that wait for longer than they are kept are ended."""
        oldest = asyncio.get_running_loop().time() - KEPT_SECONDS
        while self._idle:
            connection = self._idle.pop()
            if connection.heard >= oldest and connection.is_reusable:
                return connection
            connection.end()
        return None

    async def _connect(self, seconds: float) -> _Connection:
        try:
            async with asyncio.timeout(seconds):
                return await self._connect_to_any()
        except TimeoutError as error:
            raise NoAnswer("timeout", sent=False) from error
        except (OSError, UnicodeError) as error:
            raise NoAnswer(kind_of_causes(chain(error)) or "other", sent=False) from error

    async def _connect_to_any(self) -> _Connection:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        for *_, place in found[:-1]:
            with contextlib.suppress(OSError):  # that it took too long is one too
                async with asyncio.timeout(ADDRESS_SECONDS):
                    return await self._connect_to(place)
        return await self._connect_to(found[-1][-1])

    async def _connect_to(self, place: tuple[Any, ...]) -> _Connection:
        tls: dict[str, Any] = {"ssl": self._trust(), "server_hostname": self._host} if self._tls else {}
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(lambda: _Connection(self._open), *place[:2], **tls)
        return connection

    def _trust(self) -> ssl.SSLContext:
        """Made when first needed: it reads the certificates of this machine."""
        if self._context is None:
            import httpx2

            self._context = httpx2.create_ssl_context(trust_env=False)
        return self._context


class _Connection(asyncio.Protocol):
    """One connection, with one request under way at most. Also what httptools calls as it reads."""

    def __init__(self, open_: set[_Connection]) -> None:
        self._open = open_
        self._loop = asyncio.get_running_loop()
        self._parser: Any = None
        self._answer: Answer | None = None
        self._answered: asyncio.Future[None] | None = None
        self._body: list[bytes] = []
        self._timer: asyncio.TimerHandle | None = None
        self._kept_alive = True
        self._has_head = False
        self.heard = self._loop.time()
        self.over = asyncio.Event()

    @property
    def is_reusable(self) -> bool:
        return self._kept_alive and not self._transport.is_closing()

    async def ask(self, request: bytes, answer: Answer, seconds: float) -> None:
        """Sends it, and fills in the answer."""
        self._answer, self._answered = answer, self._loop.create_future()
        self._parser = httptools.HttpResponseParser(self)
        self._has_head = False
        self.heard = self._loop.time()
        self._timer = self._loop.call_later(seconds, self._look_at_clock, seconds)
        try:
            self._transport.write(request)
            await self._answered
        finally:
            self._timer.cancel()

    def end(self) -> None:
        self._transport.abort()

    def _look_at_clock(self, seconds: float) -> None:
        left = self.heard + seconds - self._loop.time()
        if left <= 0:
            self._fail(NoAnswer("timeout", sent=True))
        else:
            self._timer = self._loop.call_later(left, self._look_at_clock, seconds)

    def _fail(self, error: NoAnswer) -> None:
        if self._answered is not None and not self._answered.done():
            self._answered.set_exception(error)

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are not made from that class
        self._open.add(self)

    def resume_writing(self) -> None:
        self.heard = self._loop.time()

    def data_received(self, data: bytes) -> None:
        self.heard = self._loop.time()
        if self._answered is None or self._answered.done():
            self._kept_alive = False  # nothing was asked
            self.end()
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._kept_alive = False
            failure = NoAnswer("protocol", sent=True)
            failure.__cause__ = error
            self._fail(failure)

    def connection_lost(self, error: Exception | None) -> None:
        self._open.discard(self)
        self.over.set()
        if self._answered is None or self._answered.done():
            return
        if self._has_head and error is None and _ends_with_connection(self._answer):
            self.on_message_complete()
            return
        kind = (kind_of_causes(chain(error)) if error else None) or "reset"
        self._fail(NoAnswer("protocol" if self._has_head else kind, sent=True))

    # What httptools calls

    def on_message_begin(self) -> None:
        """Of the answer, or of a "100 Continue" before it."""
        self._body = []
        if self._answer is not None and self._answered is not None and not self._answered.done():
            self._answer.reason = ""
            self._answer.headers = {}
        else:
            self._kept_alive = False  # one answer too many

    def on_status(self, status: bytes) -> None:
        if self._answer is not None:
            self._answer.reason += status.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._answer is not None:
            self._answer.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self._has_head = self._parser.get_status_code() >= 200

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200 or self._answer is None or self._answered is None or self._answered.done():
            return
        self._kept_alive = self._parser.should_keep_alive()
        self._answer.status_code = status
        self._answer.content = b"".join(self._body)
        self._answered.set_result(None)


def without_password(address: str) -> str:
    """Returns the URL of a server as it may be shown and logged."""
    parts = urlsplit(address)
    if parts.password is None:
        return address
    return parts._replace(netloc=f"{parts.username}:***@{parts.netloc.rpartition('@')[2]}").geturl()


def _ends_with_connection(answer: Answer | None) -> bool:
    return answer is not None and not {"content-length", "transfer-encoding"} & answer.headers.keys()


def _own_headers(parts: SplitResult) -> dict[str, str]:
    host = parts.netloc.rpartition("@")[2]
    given = {"host": host if host.isascii() else host.encode("idna").decode(), "accept": "*/*"}
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        given["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return given


def _lines(headers: Mapping[str, str]) -> str:
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            raise UsageError(
                f"the header {name} would have characters that no header can have",
                remedy="check the token (TENAX_TOKEN)" if name == "authorization" else None,
            )
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())
