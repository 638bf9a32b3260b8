"""Scenes with an engine driven by hand (`tests/hand.py`)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hand import Hand, hand_on

Scene = Callable[[Hand], Awaitable[None]]


@pytest.fixture
def play(any_database_url: str, tmp_path: Path) -> Callable[..., None]:
    """Plays a scene with an engine of its own, on every PostgreSQL there is."""

    def run(scene: Scene, **settings: Any) -> None:
        async def played() -> None:
            async with hand_on(any_database_url, tmp_path, **settings) as hand:
                await scene(hand)

        asyncio.run(played())

    return run
