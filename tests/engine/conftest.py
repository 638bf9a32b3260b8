"""Scenes with an engine driven by hand (`tests/hand.py`)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hand import Hand, hand_on

Scene = Callable[[Hand], Awaitable[None]]


Play = Callable[..., None]


@pytest.fixture
def play(any_database_url: str, tmp_path: Path) -> Play:
    """Plays a scene with an engine of its own, on every PostgreSQL there is."""
    return _player(any_database_url, tmp_path)


@pytest.fixture
def play_once(database_url: str, tmp_path: Path) -> Play:
    """Plays a scene on one PostgreSQL only: for many scenes that are alike."""
    return _player(database_url, tmp_path)


def _player(url: str, home: Path) -> Play:
    def run(scene: Scene, **settings: Any) -> None:
        async def played() -> None:
            async with hand_on(url, home, **settings) as hand:
                await scene(hand)

        asyncio.run(played())

    return run
