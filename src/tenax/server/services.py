"""Gives the routes the objects that they work with. Each app has one set, found through the request."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from tenax.engine.engine import Engine
from tenax.server.watchdog import Watchdog
from tenax.web.auth import Authenticator, Principal
from tenax.web.long_poll import LongPolls


@dataclass(frozen=True, slots=True)
class Services:
    engine: Engine
    authenticator: Authenticator
    long_polls: LongPolls
    watchdog: Watchdog


def services(request: Request) -> Services:
    found: Services = request.app.state.services
    return found


def engine(request: Request) -> Engine:
    return services(request).engine


def token_id(request: Request) -> int | None:
    """Returns the id of the request's token. Returns None if the request has no token."""
    principal: Principal = request.user
    return principal.token_id


def actor(request: Request) -> str:
    principal: Principal = request.user
    return principal.name
