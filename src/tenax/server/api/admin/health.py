"""Answers whether the server is alive, whether it is ready, and which version it has."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from tenax import __version__
from tenax.errors import Unreachable
from tenax.server.schema.openapi import described
from tenax.server.schema.responses import Health, Version, answer_view
from tenax.server.services import services
from tenax.store.migrate import require_current
from tenax.web.long_poll import Stopping

PATIENCE = 3.0
"""Seconds within which a reachable database answers."""

router = APIRouter(tags=["server"])


@router.get("/healthz", **described(Health))
async def healthz(
    request: Request,
    verbose: Annotated[
        str | None, Query(max_length=10, description="also the measurements of the server")
    ] = None,
) -> Response:
    """Tells that the server is alive.

    With `verbose`, the answer says how often and how long its event loop was held.
    """
    if verbose is None or verbose in ("0", "false"):
        return answer_view(Health(status="ok"))
    return answer_view(Health(status="ok", measured=services(request).watchdog.numbers()))


@router.get("/readyz", **described(Health))
async def readyz(request: Request) -> Response:
    """Tells that the server is ready.

    The database can be reached and has the right schema, and the server is not about to stop.
    """
    parts = services(request)
    if parts.long_polls.closing:
        raise Stopping
    try:
        async with asyncio.timeout(PATIENCE), parts.engine.context.transaction() as tx:
            await require_current(tx)
    except TimeoutError:
        raise Unreachable(f"the database has not answered within {PATIENCE:g} s") from None
    return answer_view(Health(status="ready"))


@router.get("/v1/version", **described(Version))
async def version() -> Response:
    """Returns the versions.

    The answer has the version of the server and the version of its API.
    """
    return answer_view(Version(version=__version__, api="v1"))
