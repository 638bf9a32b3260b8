"""Counts Ctrl-C and SIGTERM: the first one asks or drains, and the second one ends at once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
INTERRUPTED = 130


class Interrupts:
    """Counts how often this process was asked to stop. Use it as `with interrupts.caught():` inside a running loop."""

    def __init__(self, *, on_third: Callable[[], None] | None = None) -> None:
        self.first = asyncio.Event()
        self.second = asyncio.Event()
        self.signal: int | None = None
        """The first signal."""
        self._on_third = on_third or (lambda: os._exit(INTERRUPTED))

    @property
    def by_hand(self) -> bool:
        return self.signal == signal.SIGINT

    @contextlib.contextmanager
    def caught(self, signals: Sequence[signal.Signals] = STOPPING) -> Iterator[Interrupts]:
        loop = asyncio.get_running_loop()
        # `nohup` makes the process ignore SIGHUP, and it stays ignored.
        signals = [n for n in signals if n != signal.SIGHUP or signal.getsignal(n) is not signal.SIG_IGN]
        for number in signals:
            loop.add_signal_handler(number, self._heard, number)
        try:
            yield self
        finally:
            for number in signals:
                loop.remove_signal_handler(number)

    def forget(self) -> None:
        """Counts the next signal as the first again, after the question was answered with `go on`."""
        self.first.clear()
        self.second.clear()

    def _heard(self, number: int) -> None:
        if self.second.is_set():
            self._on_third()
        elif self.first.is_set():
            self.second.set()
        else:
            self.signal = number
            self.first.set()


async def typed_line(prompt: str) -> str | None:
    """Reads one line from the terminal. Returns None at its end. Uses no thread, since a waiting thread could not be ended."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str | None] = loop.create_future()
    stdin = sys.stdin.fileno()

    def readable() -> None:
        if not answer.done():
            read = os.read(stdin, 1024)
            answer.set_result(read.decode(errors="replace").strip() if read else None)

    print(prompt, end="", file=sys.stderr, flush=True)
    loop.add_reader(stdin, readable)
    try:
        return await answer
    finally:
        loop.remove_reader(stdin)
