"""An engine driven by hand (`tests/support/hand.py`) for every test that asks for a `hand`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from support.hand import Hand, hand_on


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "settings(**settings): settings of the engine that the test's hand drives"
    )


@asynccontextmanager
async def opened(url: str, home: Path, **settings: Any) -> AsyncIterator[Hand]:
    """Opens the engine that a test drives by hand. Every test of the engine goes through here."""
    async with hand_on(url, home, **settings) as hand:
        yield hand


@pytest.fixture
def hand(
    any_database_url: str, tmp_path: Path, request: pytest.FixtureRequest
) -> AbstractAsyncContextManager[Hand]:
    """Gives a test that is a coroutine its hand, on every PostgreSQL there is."""
    # A marker of the test goes before one of its module.
    markers = reversed([*request.node.iter_markers("settings")])
    settings = {name: value for marker in markers for name, value in marker.kwargs.items()}
    return opened(any_database_url, tmp_path, **settings)
