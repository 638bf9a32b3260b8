"""Watches how long the event loop is held. No request may hold it for more than 50 ms.

A thread asks the loop for a reply every few milliseconds. If the reply is late, the thread reads the stack of the loop's thread and
logs it.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

import structlog

FRAMES_SHOWN = 12
"""Frames of the stack that are logged, the innermost last."""
WARNING_PAUSE = 1.0
"""Seconds between two warnings. Holds in between are counted, and the next warning has their number."""
STANDSTILL = 1.0
"""Seconds from which a hold counts even if the loop's thread hardly computed. A shorter one only means that the machine was busy."""
_PACKAGE = "tenax"
_log = structlog.get_logger("tenax.watchdog")


class Watchdog:
    """Watches the event loop of one server, and counts its holds."""

    def __init__(self, limit: float) -> None:
        """Prepares the watchdog. `limit` is in seconds; 0 switches it off."""
        self.limit = limit
        self.holds = 0
        """The number of times that the loop's thread computed for longer than the limit, or stood still for a second."""
        self.longest = 0.0
        """Seconds of the longest hold, by the wall clock."""
        self.busiest = 0.0
        """The most seconds that the loop's thread computed in one hold."""
        self._stop = threading.Event()
        self._reply = _Reply()
        self._unlogged = 0
        self._logged_at = -WARNING_PAUSE

    def numbers(self) -> dict[str, float]:
        """Returns the counters by the names of their metrics."""
        return {
            "loop_hold_limit_seconds": self.limit,
            "loop_holds_total": self.holds,
            "loop_hold_longest_seconds": round(self.longest, 4),
            "loop_hold_busiest_seconds": round(self.busiest, 4),
        }

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Watches the running loop of this thread during the block."""
        if self.limit <= 0:
            yield
            return
        loop, owner = asyncio.get_running_loop(), threading.get_ident()
        thread = threading.Thread(target=self._watch, args=(loop, owner), name="tenax-watchdog", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            self._reply.give()  # counts a hold that lasts until now
            thread.join()  # the thread reads the clock of this thread, which may end next

    def _watch(self, loop: asyncio.AbstractEventLoop, owner: int) -> None:
        computed = _clock_of(owner)
        reply = self._reply
        while not self._stop.wait(self.limit / 2):
            reply.clear()
            if self._stop.is_set():
                return
            asked_at, computed_before = time.perf_counter(), computed()
            try:
                loop.call_soon_threadsafe(reply.give)
            except RuntimeError:  # the loop is closed
                return
            if reply.wait(self.limit):
                continue
            where, stack = _stack_of(owner)
            while not reply.wait(self.limit) and not self._stop.is_set():
                pass
            if reply.is_given():
                self._note(reply.given_at - asked_at, computed() - computed_before, where, stack)

    def _note(self, held: float, busy: float, where: str, stack: list[str]) -> None:
        if min(busy, held) <= self.limit and held <= STANDSTILL:  # the machine was busy with other processes
            return
        self.holds += 1
        self._unlogged += 1
        self.longest = max(self.longest, held)
        self.busiest = max(self.busiest, min(busy, held))
        if time.monotonic() - self._logged_at < WARNING_PAUSE:
            return
        _log.warning(
            "the event loop was held",
            milliseconds=round(1000 * held),
            busy_milliseconds=round(1000 * min(busy, held)),
            limit=round(1000 * self.limit),
            where=where,
            times=self._unlogged,
            frames=" > ".join(stack),
        )
        self._logged_at, self._unlogged = time.monotonic(), 0


class _Reply:
    """Is the reply of the loop to the question whether it is free."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self.given_at = 0.0
        self.clear = self._event.clear
        self.wait = self._event.wait
        self.is_given = self._event.is_set

    def give(self) -> None:
        self.given_at = time.perf_counter()
        self._event.set()


def _clock_of(thread: int) -> Callable[[], float]:
    """Returns a clock of the CPU time of a thread."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.perf_counter
    clock = time.pthread_getcpuclockid(thread)
    return lambda: time.clock_gettime(clock)


def _stack_of(thread: int) -> tuple[str, list[str]]:
    """Returns the innermost function of Tenax that a thread runs, and its stack."""
    frame = sys._current_frames().get(thread)  # noqa: SLF001 -- there is no other way
    frames: list[FrameType] = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    ours = [one for one in frames if one.f_globals.get("__name__", "").startswith(_PACKAGE)]
    where = _name(ours[0]) if ours else _name(frames[0]) if frames else "unknown"
    return where, [_name(one) for one in reversed(frames[:FRAMES_SHOWN])]


def _name(frame: FrameType) -> str:
    return f"{frame.f_globals.get('__name__', '?')}.{frame.f_code.co_qualname}:{frame.f_lineno}"
