"""Sends requests to the routes of the HTTP API within the process, without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlencode

from tenax.engine.engine import Engine
from tenax.sdk.exchange import Answer
from tenax.sdk.servers import Servers

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message

ADDRESS = "http://in-process"
"""What stands in the place of a server's address in messages."""
_HOST = "in-process"


class InProcess(Servers):
    """Answers requests by an app over an engine. The app is made at the first request, since its import takes half a second."""

    def __init__(self, engine: Engine, actor: str) -> None:
        super().__init__(ADDRESS, headers={})
        self._engine = engine
        self._actor = actor
        self._app: ASGIApp | None = None

    async def request(
        self, method: str, path: str, *, repeatable: bool, follows: bool = False, **how: Any
    ) -> Answer:
        del repeatable, follows  # there is one engine, and its answer always comes
        if self._app is None:
            self._app = await asyncio.to_thread(_make_app, self._engine, self._actor)
        return await _ask(self._app, method, path, how.get("params"), how.get("headers"), how.get("content"))


def _make_app(engine: Engine, actor: str) -> ASGIApp:
    from tenax.server.app import API, create_app
    from tenax.web.auth import OwnProcess

    app: ASGIApp = create_app(engine, engine.context.settings, [*API], OwnProcess(engine.context, actor))
    return app


async def _ask(
    app: ASGIApp,
    method: str,
    path: str,
    params: Mapping[str, Any] | None,
    headers: Mapping[str, str] | None,
    content: bytes | None,
) -> Answer:
    body = content or b""
    given = {**(headers or {}), "host": _HOST, "content-length": str(len(body))}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": urlencode(params or {}).encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in given.items()],
        "client": ("127.0.0.1", 0),
        "server": (_HOST, 80),
    }
    answer, parts = Answer(method, f"{ADDRESS}{path}"), []
    incoming = iter([{"type": "http.request", "body": body, "more_body": False}])
    never = asyncio.Event()

    async def receive() -> Message:
        if (message := next(incoming, None)) is None:
            await never.wait()
        return message or {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status_code = message["status"]
            answer.reason = HTTPStatus(answer.status_code).phrase
            answer.headers = {name.decode(): value.decode("latin-1") for name, value in message["headers"]}
        else:
            parts.append(message.get("body", b""))

    await app(scope, receive, send)
    answer.content = b"".join(parts)
    return answer
