"""Puts the dashboard together: its pages, its files, and the way in."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import APIRouter, Depends, FastAPI

from tenax.engine.engine import Engine
from tenax.ui import assets
from tenax.ui.dashboard import Dashboard
from tenax.ui.forms import check_form
from tenax.ui.pages.registry import PAGES
from tenax.web.auth import Authenticator
from tenax.web.long_poll import LongPolls


def mount(app: FastAPI, engine: Engine, authenticator: Authenticator, long_polls: LongPolls) -> Dashboard:
    """Adds the dashboard to the app of a server."""
    made = app.state.dashboard = Dashboard(engine, authenticator, long_polls, PAGES)
    for one in _routers():
        app.include_router(one, include_in_schema=False, dependencies=[Depends(check_form)])
    return made


def _routers() -> Iterator[APIRouter]:
    yield assets.router
    for page in PAGES:
        yield page.router
