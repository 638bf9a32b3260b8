"""Keeps a view up to date until Ctrl-C: redraws it on a terminal, else prints it again at each change."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from tenax.cli.output import console, say, show
from tenax.drawing.text_lines import printable
from tenax.errors import Unreachable

REFRESH_SECONDS = 1.0

T = TypeVar("T")


async def watch(
    fetch: Callable[[], Awaitable[T]],
    draw: Callable[[T], RenderableType],
    change_key: Callable[[T], Any],
    *,
    every: float = REFRESH_SECONDS,
) -> None:
    """Fetches and draws until it is cancelled. Without a terminal, a view is printed only if its `change_key` differs.

    Raises `Unreachable` if the first fetch fails, and waits for the server to come back if a later one fails.
    """
    board = _TerminalBoard(console()) if console().is_terminal else _PlainBoard(change_key)
    found = await fetch()
    try:
        while True:
            board.put(draw(found), found)
            await asyncio.sleep(every)
            found = await _patiently(fetch, board, every)
    finally:
        board.close()


async def _patiently(
    fetch: Callable[[], Awaitable[T]], board: _TerminalBoard | _PlainBoard, every: float
) -> T:
    while True:
        try:
            return await fetch()
        except Unreachable as error:
            board.away(f"{error.message}; waiting for it to come back")
            await asyncio.sleep(every)


class _TerminalBoard:
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


class _PlainBoard:
    def __init__(self, change_key: Callable[[Any], Any]) -> None:
        self._change_key = change_key
        self._last: Any = None
        self._first = True
        self._is_away = False

    def put(self, shown: RenderableType, found: object) -> None:
        told = self._change_key(found)
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
        """Does nothing: printed text stays."""
