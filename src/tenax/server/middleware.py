"""Is the outermost layer of the app: authenticates requests, limits their bodies, and turns every error into a problem."""

from __future__ import annotations

import secrets
from collections import Counter

import structlog
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenax import __version__
from tenax.engine.definitions.sender_turns import sent_by
from tenax.errors import Busy, TenaxError, TooLarge
from tenax.model.packs.archive import largest_archive
from tenax.model.packs.archive import too_large as pack_too_large
from tenax.server.problems import answer_problem
from tenax.server.refusals import Refusals
from tenax.ui.answers import answer_error
from tenax.ui.dashboard import Dashboard
from tenax.web.auth import CALLBACKS, PACKS, Authenticator, is_public_path
from tenax.web.long_poll import Stopping

HEADERS = (
    (b"tenax-version", __version__.encode()),  # tells clients that the answer comes from Tenax
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)

SMALL_BODY = 64_000
"""Bytes of a body. A body up to this size takes no share of `body_memory`."""
Sender = int | str | None
"""The sender of a body: the id of a token, the item of a callback, or None on an open server."""
_log = structlog.get_logger("tenax.server")


class EntryMiddleware:
    """Checks each request before its body is read, and answers all errors. It is plain ASGI, since FastAPI would hide some errors."""

    def __init__(
        self,
        app: ASGIApp,
        authenticator: Authenticator,
        max_body: int,
        body_memory: int,
        max_pack: int,
        dashboard: Dashboard | None = None,
    ) -> None:
        self._app = app
        self._dashboard = dashboard
        self._authenticator = authenticator
        self._max_body = max_body
        self._max_pack = max_pack
        self._room = BodyRoom(body_memory)
        self._refusals = Refusals()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _AnswerState(send)
        try:
            await self._admit(scope)
            self._check_length(scope)
            await self._pass_on(scope, receive, answer)
        except TenaxError as error:
            if answer.started:
                raise
            if error.http_status >= 500 and not isinstance(error, Stopping):
                _log.warning("a request failed", error=str(error), **_about(scope))
            if isinstance(error, TooLarge):
                self._refusals.log("a body was refused", error=error.message, **_about(scope))
            await self._response(error, scope)(scope, receive, answer)
        except ClientDisconnect:
            # The client left before its request was complete. Nothing was done, and nobody waits for an answer.
            _log.info("a client disconnected in the middle of its request", **_about(scope))
        except Exception as error:  # the outermost boundary: the caller gets a problem, the log the details
            if answer.started:
                raise
            await self._response(_unexpected(error, scope), scope)(scope, receive, answer)

    async def _admit(self, scope: Scope) -> None:
        """Sets the user of a request, and the visitor of a page. A session is good for pages only."""
        if self._dashboard is not None and self._dashboard.owns(scope):
            if (visitor := await self._dashboard.admit(scope)) is not None:
                scope["visitor"], scope["user"] = visitor, visitor.principal
        elif not is_public_path(scope["path"]):
            scope["user"] = await self._authenticator.admit(scope)

    def _response(self, error: TenaxError, scope: Scope) -> Response:
        if self._dashboard is not None and self._dashboard.owns(scope):
            return answer_error(self._dashboard, HTTPConnection(scope), error)
        return answer_problem(error)

    async def _pass_on(self, scope: Scope, receive: Receive, answer: _AnswerState) -> None:
        if _is_pack(scope):  # its route reads it in pieces, within a limit of its own
            await self._app(scope, receive, answer)
            return
        sender = _sender(scope)
        bounded = _BoundedReceive(receive, self._max_body, self._room, sender)
        try:
            with sent_by("caller", sender):
                await self._app(scope, bounded, answer)
        finally:
            bounded.leave()

    def _check_length(self, scope: Scope) -> None:
        length = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if not length.isdigit():
            return
        if _is_pack(scope):
            if int(length[:20]) > largest_archive(self._max_pack):
                raise pack_too_large(self._max_pack)
        elif int(length[:20]) > self._max_body:
            raise too_large(self._max_body)


def _is_pack(scope: Scope) -> bool:
    """Returns whether the body of a request is the archive of a pack."""
    return bool(scope["path"] == PACKS and scope["method"] == "POST")


def _sender(scope: Scope) -> Sender:
    user = scope.get("user")
    if user is not None:
        token_id: int | None = user.token_id
        return token_id
    path: str = scope["path"]
    return "/".join(path.split("/")[:5]) if path.startswith(CALLBACKS) else None


class _AnswerState:
    """Sends an answer, and remembers whether it was started."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.started = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            own = message.get("headers", ())
            names = {name for name, _ in own}
            message["headers"] = [*own, *(one for one in HEADERS if one[0] not in names)]
        await self._send(message)


class BodyRoom:
    """Limits the memory of all large bodies together, from their first byte to the answer. One sender may use half of it."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._taken: Counter[Sender] = Counter()

    def take(self, sender: Sender, more: int) -> None:
        taken = self._taken.total()
        if taken + more > self._size or self._taken[sender] + more > self._size // 2:
            raise Busy(
                f"the server must answer {taken:,} bytes of large requests first (body_memory)",
                remedy="try again in a moment, send less at once, or raise TENAX_BODY_MEMORY on the server",
            )
        self._taken[sender] += more

    def give_back(self, sender: Sender, size: int) -> None:
        self._taken[sender] -= size
        if not self._taken[sender]:
            del self._taken[sender]


class _BoundedReceive:
    """Receives a body up to the limit, even if the request announced no length."""

    def __init__(self, receive: Receive, max_body: int, room: BodyRoom, sender: Sender) -> None:
        self._receive = receive
        self._sender = sender
        self._max_body = max_body
        self._room = room
        self._size = 0
        self._taken = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._size += len(message.get("body", b""))
            if self._size > self._max_body:
                raise too_large(self._max_body)
            if self._size > SMALL_BODY:
                self._room.take(self._sender, self._size - self._taken)
                self._taken = self._size
        return message

    def leave(self) -> None:
        if self._taken:
            self._room.give_back(self._sender, self._taken)


def too_large(max_body: int) -> TooLarge:
    return TooLarge(
        f"the server takes at most {max_body:,} bytes in one request (max_body)",
        remedy="send less at once, or raise max_body (TENAX_MAX_BODY) on the server",
    )


def _unexpected(error: Exception, scope: Scope) -> TenaxError:
    incident = secrets.token_hex(4)
    _log.error("a request failed unexpectedly", incident=incident, exc_info=error, **_about(scope))
    return TenaxError(
        f"the server failed on this request (incident {incident})",
        remedy=f"the server's log says more: look for {incident}",
    )


def _about(scope: Scope) -> dict[str, object]:
    user = scope.get("user")
    return {
        "method": scope["method"],
        "path": _without_receipt(scope["path"]),
        "token_id": user.token_id if user else None,
    }


def _without_receipt(path: str) -> str:
    """Returns a path for the log. The receipt in the path of a callback is a key, so it is left out."""
    if not path.startswith(CALLBACKS):
        return path
    return "/".join([CALLBACKS.rstrip("/"), *path.removeprefix(CALLBACKS).split("/")[:3], "..."])
