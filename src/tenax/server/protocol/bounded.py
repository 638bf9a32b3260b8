"""Limits the size and the time of request heads and bodies, before the caller is known.

uvicorn and its parser (llhttp) refuse ambiguous requests (two lengths, a length beside a transfer encoding, bare line ends), but limit
neither sizes nor times. For a request that arrives whole, the limits cost a few comparisons.
"""

from __future__ import annotations

from typing import Any, Literal

import httptools
from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from tenax.errors import TenaxError, TooLarge, Unreachable, UsageError
from tenax.server.middleware import HEADERS
from tenax.server.problems import answer_problem
from tenax.server.protocol.connections import Connections, TimeoutQueue
from tenax.server.protocol.single_write import SingleWriteProtocol

LINGER = 8_000_000
"""Bytes of a body that are read after its refusal. Closing the connection at once could destroy the answer on its way."""
MAX_PIPELINED = 100
"""Requests on one connection that may wait for the answer to an earlier request."""
Stage = Literal["idle", "head", "body"]


class HeadTooLarge(TooLarge):
    """The request line and headers are longer than their limit."""

    http_status = 431


class TooSlow(Unreachable):
    """The request did not arrive completely in time."""

    http_status = 408


class _HeadRefused(Exception):
    """Ends the parsing of a head that is too large."""


class _TooManyAtOnce(Exception):
    """Ends the parsing of requests on a connection on which too many wait for their answers."""


class BoundedProtocol(SingleWriteProtocol):
    """Is uvicorn's protocol for one connection, and ends requests that are too large or too slow."""

    def __init__(self, *arguments: Any, all_connections: Connections, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._all = all_connections
        self._limits = all_connections.limits
        self.address = ""
        self._stage: Stage = "idle"
        self._head_size = 0
        """Bytes of the unfinished head, counted since the end of the previous request."""
        self._body_size = 0
        self._around_body = 0
        """Bytes since the last piece of the body: headers of chunks, and trailers."""
        self._is_admitted = False
        self._is_watched = False
        self._is_refused = False
        self._unread = 0
        """Bytes of answers that the peer had not read at the last check."""

    # -- the connection

    def connection_made(self, transport: Any) -> None:
        peer = transport.get_extra_info("peername")
        self.address = str(peer[0]) if isinstance(peer, tuple) else ""
        if (problem := self._all.admit(self)) is not None:
            self._is_refused = True
            transport.write(_problem_answer(problem))
            transport.close()
            return
        self._is_admitted = True
        super().connection_made(transport)
        self._watch(self._all.heads)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._is_admitted:
            self._all.leave(self)
            super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.transport.get_write_buffer_size()
        self._all.watch(self, self._all.answers)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._all.unwatch(self, self._all.answers)

    # -- what arrives

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        self._unset_keepalive_if_required()
        if self._stage == "body":
            self._around_body += len(data)
        else:
            self._head_size += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # there is no protocol to upgrade to: the request is answered as usual, and later data is not read
        except httptools.HttpParserError as error:
            self._refuse_unparsed(error)
            return
        if self._stage == "idle" and not self._head_size:
            return
        if self._stage == "body":
            if self._around_body > self._limits.max_head:
                self._refuse(self._head_too_large())
                return
        elif self._head_size > self._limits.max_head:
            self._refuse(self._head_too_large())
            return
        if not self._is_watched:
            self._watch(self._all.bodies if self._stage == "body" else self._all.heads)

    def on_message_begin(self) -> None:
        self._stage = "head"
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        if self._head_size > self._limits.max_head and self._size_of_head() > self._limits.max_head:
            raise _HeadRefused
        if len(self.pipeline) >= MAX_PIPELINED:
            raise _TooManyAtOnce
        super().on_headers_complete()
        if self.parser.should_upgrade():  # later data may be meant for another protocol
            self.cycle.keep_alive = False
            self.headers.append(
                (b"connection", b"close")
            )  # so that the answer also says that the connection is closed
        self._stage = "body"
        self._body_size = self._around_body = 0
        self.headers = []  # trailers must not be added to the headers that the app has received received
        if self._is_watched:
            self._unwatch()

    def on_body(self, body: bytes) -> None:
        self._body_size += len(body)
        self._around_body = 0
        super().on_body(body)
        if self.cycle.response_complete and self._body_size > self._limits.max_body + LINGER:
            self.transport.close()

    def on_message_complete(self) -> None:
        self._stage = "idle"
        self._head_size = 0
        if self._is_watched:
            self._unwatch()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.pipeline:  # uvicorn reads on after each answer, even if requests wait
            self.flow.pause_reading()
        if self._stage == "body" and not self.pipeline:
            # The rest of the body is not needed, but closing now could destroy the answer. It gets the time of a head to arrive.
            self._unwatch()
            self._watch(self._all.heads)

    # -- refusals

    def handle_timeout(self, queue: TimeoutQueue) -> bool:
        """Ends a request that did not arrive in its time, or an answer that is not read."""
        if queue is self._all.answers:
            unread, self._unread = self._unread, self.transport.get_write_buffer_size()
            if self._unread >= unread:
                self._all.refusals.log("an answer that is not read was dropped", address=self.address)
                self.transport.abort()
            return self._unread >= unread
        if self.flow.read_paused:  # this server itself has stopped reading
            return False
        if self._stage == "idle" and not self._head_size:
            self._is_refused = True
            self.transport.close()  # the client never sent anything
            return True
        what = "body" if queue is self._all.bodies else "head"
        self._refuse(
            TooSlow(
                f"the {what} of the request was not complete after {queue.seconds:g} s ({what}_timeout)",
                remedy=f"send it faster, or raise TENAX_{what.upper()}_TIMEOUT on the server",
            )
        )
        return True

    def make_room(self) -> None:
        self._is_refused = True
        self._unwatch()
        self.transport.abort()

    def _refuse_unparsed(self, error: httptools.HttpParserError) -> None:
        cause = error.__context__ if isinstance(error, httptools.HttpParserCallbackError) else None
        if isinstance(cause, _HeadRefused):
            self._refuse(self._head_too_large())
        elif isinstance(cause, _TooManyAtOnce):
            self._refuse(
                UsageError(
                    f"more than {MAX_PIPELINED} requests on one connection wait for their answers",
                    remedy="read the answers, or use more connections",
                )
            )
        else:
            self._refuse(UsageError("this is no HTTP/1.1 request", remedy="speak HTTP/1.1 to this server"))

    def _refuse(self, error: TenaxError) -> None:
        """Answers with a problem, unless another answer is on its way, and closes the connection."""
        self._is_refused = True
        self._unwatch()
        self._all.refusals.log("a request was refused", address=self.address, error=error.message)
        cycle = self.cycle
        if self._stage == "body" and not cycle.response_started and not self.pipeline:
            self.transport.write(_problem_answer(error))
            cycle.disconnected = True  # the app learns that its caller is gone, and sends no answer
            cycle.message_event.set()
        elif self._stage != "body" and (cycle is None or cycle.response_complete):
            self.transport.write(_problem_answer(error))
        self.transport.close()

    def _head_too_large(self) -> HeadTooLarge:
        return HeadTooLarge(
            f"the server takes a request line and headers of at most {self._limits.max_head:,} bytes (max_head)",
            remedy="send fewer or shorter headers, or raise TENAX_MAX_HEAD on the server",
        )

    def _size_of_head(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _watch(self, queue: TimeoutQueue) -> None:
        self._is_watched = True
        self._all.watch(self, queue)

    def _unwatch(self) -> None:
        self._is_watched = False
        self._all.unwatch(self, self._all.heads, self._all.bodies)


def _problem_answer(error: TenaxError) -> bytes:
    """Returns the bytes of an answer with the problem. The connection is closed after it."""
    answer: Response = answer_problem(error)
    headers = [*answer.raw_headers, *HEADERS, (b"connection", b"close")]
    lines = b"".join(b"%s: %s\r\n" % header for header in headers)
    return STATUS_LINE[error.http_status] + lines + b"\r\n" + bytes(answer.body)
