"""Sends requests to one server over HTTP/1.1, and reuses its connections.

It is written by hand because every lease and report of a worker goes through it. A request costs an eighth of the time that
httpx needs, and httpx need not be imported.
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

from tenax.credentials.passwords import without_password
from tenax.errors import UsageError
from tenax.model.attempt.outcome import Connection
from tenax.sdk.causes import chain, kind_of_causes

if TYPE_CHECKING:
    import ssl

IDLE_SECONDS = 25.0
"""Seconds for which an unused connection is kept: longer than between two heartbeats, and shorter than a Tenax server keeps it."""
ADDRESS_SECONDS = 1.0
"""Seconds for which one of several network addresses of a host is tried before the next."""
_PORTS = {"http": 80, "https": 443}


class NoAnswer(Exception):
    """There was no answer, or it cannot be read. `sent` says that the server may have received the request all the same."""

    def __init__(self, kind: Connection, *, sent: bool) -> None:
        super().__init__(kind)
        self.kind = kind
        self.sent = sent


@dataclass(slots=True)
class Answer:
    """Holds the answer to one request."""

    method: str
    url: str
    status_code: int = 0
    reason: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    """Values by lower-case names."""
    content: bytes = b""

    @property
    def is_success(self) -> bool:
        return 200 <= self.status_code < 300


class Exchange:
    """Sends requests to one server. Concurrent requests have connections of their own."""

    def __init__(self, address: str, headers: Mapping[str, str]) -> None:
        """Raises ValueError if the address is not the URL of a server."""
        parts = urlsplit(address)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ValueError("it must start with http:// or https:// and name a host")
        self._address = without_password(address)
        self._path = quote(parts.path, safe="/%:@!$&'()*+,;=~")
        self._host = parts.hostname
        self._port = parts.port or _PORTS[parts.scheme]
        self._tls = parts.scheme == "https"
        self._context: ssl.SSLContext | None = None
        self._fixed_headers = _header_lines(_own_headers(parts) | dict(headers))
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
        timeout: float,  # noqa: ASYNC109 - the longest time without any data, not the time of the whole request
        connect: float,
    ) -> Answer:
        """Returns the answer, with any status. Raises `NoAnswer`."""
        target = self._path + path + (f"?{urlencode(params)}" if params else "")
        head = (
            f"{method} {target} HTTP/1.1\r\n{self._fixed_headers}{_header_lines(headers) if headers else ''}"
        )
        if content is not None or method != "GET":
            head += f"content-length: {len(content or b'')}\r\n"
        connection = self._reuse_connection() or await self._connect(connect)
        try:
            answer = Answer(method, self._address + path)
            await connection.send(b"%b\r\n%b" % (head.encode("ascii"), content or b""), answer, timeout)
        except BaseException:
            connection.end()  # a late answer must not be taken for the answer to the next request
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
            await connection.closed.wait()

    def _reuse_connection(self) -> _Connection | None:
        """Returns the connection that was used last, or None. Ends connections that were unused for too long."""
        oldest = asyncio.get_running_loop().time() - IDLE_SECONDS
        while self._idle:
            connection = self._idle.pop()
            if connection.last_heard >= oldest and connection.is_reusable:
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
        for *_, address in found[:-1]:
            with contextlib.suppress(OSError):  # TimeoutError is an OSError too
                async with asyncio.timeout(ADDRESS_SECONDS):
                    return await self._connect_to(address)
        return await self._connect_to(found[-1][-1])

    async def _connect_to(self, address: tuple[Any, ...]) -> _Connection:
        tls: dict[str, Any] = {"ssl": self._tls_context(), "server_hostname": self._host} if self._tls else {}
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(lambda: _Connection(self._open), *address[:2], **tls)
        return connection

    def _tls_context(self) -> ssl.SSLContext:
        """Returns the TLS settings. They are made when first needed, since this reads the certificates of the machine."""
        if self._context is None:
            import httpx2

            self._context = httpx2.create_ssl_context(trust_env=False)
        return self._context


class _Connection(asyncio.Protocol):
    """Is one connection with at most one request under way. It also has the methods that httptools calls while it parses."""

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
        self.last_heard = self._loop.time()
        self.closed = asyncio.Event()

    @property
    def is_reusable(self) -> bool:
        return self._kept_alive and not self._transport.is_closing()

    async def send(self, request: bytes, answer: Answer, seconds: float) -> None:
        """Sends a request and fills in the answer."""
        self._answer, self._answered = answer, self._loop.create_future()
        self._parser = httptools.HttpResponseParser(self)
        self._has_head = False
        self.last_heard = self._loop.time()
        self._timer = self._loop.call_later(seconds, self._check_timeout, seconds)
        try:
            self._transport.write(request)
            await self._answered
        finally:
            self._timer.cancel()

    def end(self) -> None:
        self._transport.abort()

    def _check_timeout(self, seconds: float) -> None:
        left = self.last_heard + seconds - self._loop.time()
        if left <= 0:
            self._fail(NoAnswer("timeout", sent=True))
        else:
            self._timer = self._loop.call_later(left, self._check_timeout, seconds)

    def _fail(self, error: NoAnswer) -> None:
        if self._answered is not None and not self._answered.done():
            self._answered.set_exception(error)

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are not made from that class
        self._open.add(self)

    def resume_writing(self) -> None:
        self.last_heard = self._loop.time()

    def data_received(self, data: bytes) -> None:
        self.last_heard = self._loop.time()
        if self._answered is None or self._answered.done():
            self._kept_alive = False  # data came without a request
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
        self.closed.set()
        if self._answered is None or self._answered.done():
            return
        if self._has_head and error is None and _ends_with_connection(self._answer):
            self.on_message_complete()
            return
        kind = (kind_of_causes(chain(error)) if error else None) or "reset"
        self._fail(NoAnswer("protocol" if self._has_head else kind, sent=True))

    # What httptools calls

    def on_message_begin(self) -> None:
        """Starts the answer, or a "100 Continue" before it."""
        self._body = []
        if self._answer is not None and self._answered is not None and not self._answered.done():
            self._answer.reason = ""
            self._answer.headers = {}
        else:
            self._kept_alive = False  # an answer came without a request

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


def _ends_with_connection(answer: Answer | None) -> bool:
    return answer is not None and not {"content-length", "transfer-encoding"} & answer.headers.keys()


def _own_headers(parts: SplitResult) -> dict[str, str]:
    host = parts.netloc.rpartition("@")[2]
    given = {"host": host if host.isascii() else host.encode("idna").decode(), "accept": "*/*"}
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        given["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return given


def _header_lines(headers: Mapping[str, str]) -> str:
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            raise UsageError(
                f"the value of the header {name} has characters that are not allowed in a header",
                remedy="check the token (TENAX_TOKEN)" if name == "authorization" else None,
            )
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())
