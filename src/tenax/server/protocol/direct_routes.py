"""Calls the endpoints of the hot path directly, without the framework's routing and dependencies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

Endpoint = Callable[[Request], Awaitable[Response]]


class DirectRoutes:
    """Calls the endpoints of these paths directly. All other requests go through the framework."""

    def __init__(self, app: ASGIApp, posts: Mapping[str, Endpoint]) -> None:
        self._app = app
        self._posts = posts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self._posts.get(scope["path"]) if _is_plain_post(scope) else None
        if endpoint is None:
            await self._app(scope, receive, send)
            return
        response = await endpoint(Request(scope, receive))
        await response(scope, receive, send)


def _is_plain_post(scope: Scope) -> bool:
    return scope["type"] == "http" and scope["method"] == "POST" and not scope["query_string"]
