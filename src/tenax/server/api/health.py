"""Is it alive, is it ready, what is it."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from tenax import __version__
from tenax.errors import Unreachable
from tenax.server.long_poll import Stopping
from tenax.server.schema import responses as answers
from tenax.server.schema.openapi import described
from tenax.server.schema.responses import Health, HealthInFull, Version, answer
from tenax.server.services import services
from tenax.store.migrate import require_current

PATIENCE = 3.0
"""Seconds within which a database that is there answers."""

router = APIRouter(tags=["server"])


@router.get("/healthz", **described(answers.HEALTH_IN_FULL))
async def healthz(
    request: Request,
    verbose: Annotated[str | None, Query(max_length=10, description="also what the server measures")] = None,
) -> Response:
    """The process lives. With `?verbose`: and how long its event loop was held, at most."""
    if verbose is None or verbose in ("0", "false"):
        return answer(Health("ok"))
    return answer(HealthInFull("ok", services(request).watchdog.numbers()))


@router.get("/readyz", **described(answers.HEALTH))
async def readyz(request: Request) -> Response:
    """The database can be reached and has the right schema, and the server is not about to stop."""
    parts = services(request)
    if parts.long_polls.closing:
        raise Stopping
    try:
        async with asyncio.timeout(PATIENCE), parts.engine.context.transaction() as tx:
            await require_current(tx)
    except TimeoutError:
        raise Unreachable(f"the database has not answered within {PATIENCE:g} s") from None
    return answer(Health("ready"))


@router.get("/v1/version", **described(answers.VERSION))
async def version() -> Response:
    return answer(Version(__version__, "v1"))
