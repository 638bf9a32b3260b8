"""A view that is kept up to date until Ctrl-C: redrawn in place on a terminal, printed anew at each change elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from tenax.cli.output import console, printable, say, show
from tenax.errors import Unreachable

REFRESH_SECONDS = 1.0

T = TypeVar("T")


async def watch(
    look: Callable[[], Awaitable[T]],
    draw: Callable[[T], RenderableType],
    telling: Callable[[T], Any],
    *,
    every: float = REFRESH_SECONDS,
) -> None:
    """Never returns by itself. `telling`: what must differ for a change to be worth printing.

    Whoever cannot be reached at the beginning is an error at once; patience is for those who were there.
    """
    board = _Drawn(console()) if console().is_terminal else _Printed(telling)
    found = await look()
    try:
        while True:
            board.put(draw(found), found)
            await asyncio.sleep(every)
            found = await _patiently(look, board, every)
    finally:
        board.close()


async def _patiently(look: Callable[[], Awaitable[T]], board: _Drawn | _Printed, every: float) -> T:
    while True:
        try:
            return await look()
        except Unreachable as error:
            board.away(f"{error.message}; waiting for it to come back")
            await asyncio.sleep(every)


class _Drawn:
    def __init__(self, target: Console) -> None:
        self._shown: RenderableType = Text()
        self._live = Live(console=target, auto_refresh=False)
        self._live.start()

    def put(self, shown: RenderableType, _found: object) -> None:
        self._shown = shown
        self._live.update(shown, refresh=True)

    def away(self, words: str) -> None:
        self._live.update(Group(self._shown, Text(printable(words), style="yellow")), refresh=True)

    def close(self) -> None:
        self._live.stop()


class _Printed:
    def __init__(self, telling: Callable[[Any], Any]) -> None:
        self._telling = telling
        self._last: Any = None
        self._first = True
        self._is_away = False

    def put(self, shown: RenderableType, found: object) -> None:
        told = self._telling(found)
        if not self._first and told == self._last and not self._is_away:
            return
        if not self._first:
            say("")
        self._first, self._last, self._is_away = False, told, False
        show(shown)
        console().file.flush()

    def away(self, words: str) -> None:
        if not self._is_away:
            say(words)
            console().file.flush()
        self._is_away = True

    def close(self) -> None:
        """What is printed stays."""
