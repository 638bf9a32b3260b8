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
from collections.abc import Iterator
from types import FrameType
from typing import NamedTuple

import structlog

FRAMES_SHOWN = 12
"""Frames of the stack that are logged, the innermost last."""
WARNING_PAUSE = 1.0
"""Seconds between two warnings. Holds in between are counted, and the next warning has their number."""
STANDSTILL = 1.0
"""Seconds from which a hold counts even if the loop's thread only waited for a processor. Shorter waits are normal on a busy machine."""
_PACKAGE = "tenax"
_log = structlog.get_logger("tenax.watchdog")


class Watchdog:
    """Watches the event loop of one server, and counts its holds."""

    def __init__(self, limit: float) -> None:
        """Prepares the watchdog. `limit` is in seconds; 0 switches it off."""
        self.limit = limit
        self.holds = 0
        """The number of times that the loop's thread computed or was blocked for longer than the limit, or stood still for a second."""
        self.longest = 0.0
        """Seconds of the longest hold, by the wall clock."""
        self.busiest = 0.0
        """The most seconds that the loop's thread computed in one hold."""
        self.most_blocked = 0.0
        """The most seconds that it was blocked in one hold: by a lock, a file, or another thread that computed."""
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
            "loop_hold_most_blocked_seconds": round(self.most_blocked, 4),
        }

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Watches the running loop of this thread during the block."""
        if self.limit <= 0:
            yield
            return
        loop, owner = asyncio.get_running_loop(), _Owner(threading.get_ident(), threading.get_native_id())
        thread = threading.Thread(target=self._watch, args=(loop, owner), name="tenax-watchdog", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            self._reply.give()  # counts a hold that lasts until now
            thread.join()  # the thread reads the clock of this thread, which may end next

    def _watch(self, loop: asyncio.AbstractEventLoop, owner: _Owner) -> None:
        reply = self._reply
        while not self._stop.wait(self.limit / 2):
            reply.clear()
            if self._stop.is_set():
                return
            asked_at, before = time.perf_counter(), owner.times()
            try:
                loop.call_soon_threadsafe(reply.give)
            except RuntimeError:  # the loop is closed
                return
            if reply.wait(self.limit):
                continue
            where, stack = _stack_of(owner.ident)
            while not reply.wait(self.limit) and not self._stop.is_set():
                pass
            if reply.is_given():
                self._note(Hold.of(reply.given_at - asked_at, before, owner.times()), where, stack)

    def _note(self, hold: Hold, where: str, stack: list[str]) -> None:
        if (
            hold.busy + hold.blocked <= self.limit and hold.held <= STANDSTILL
        ):  # the machine was busy with other processes
            return
        self.holds += 1
        self._unlogged += 1
        self.longest = max(self.longest, hold.held)
        self.busiest = max(self.busiest, hold.busy)
        self.most_blocked = max(self.most_blocked, hold.blocked)
        if time.monotonic() - self._logged_at < WARNING_PAUSE:
            return
        _log.warning(
            "the event loop was held",
            milliseconds=round(1000 * hold.held),
            busy_milliseconds=round(1000 * hold.busy),
            blocked_milliseconds=round(1000 * hold.blocked),
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


class Times(NamedTuple):
    """Holds the seconds for which a thread has computed, and those for which it has waited for a processor (None if unknown)."""

    computed: float
    waited: float | None


class Hold(NamedTuple):
    """Describes one hold of the loop, in seconds."""

    held: float
    """The seconds by the wall clock."""
    busy: float
    """The seconds for which the loop's thread computed."""
    blocked: float
    """The seconds for which it neither computed nor waited for a processor."""

    @classmethod
    def of(cls, held: float, before: Times, after: Times) -> Hold:
        busy = min(held, after.computed - before.computed)
        if before.waited is None or after.waited is None:
            return cls(held, busy, 0.0)
        return cls(held, busy, max(0.0, held - busy - (after.waited - before.waited)))


class _Owner(NamedTuple):
    """Names the thread of a loop: its number in Python, and its number in the system."""

    ident: int
    native_id: int

    def times(self) -> Times:
        if not hasattr(time, "pthread_getcpuclockid"):
            return Times(time.perf_counter(), None)
        computed = time.clock_gettime(time.pthread_getcpuclockid(self.ident))
        try:
            with open(f"/proc/self/task/{self.native_id}/schedstat", "rb") as found:  # noqa: PTH123 -- forty times a second
                waited = int(found.read().split()[1])
        except (OSError, IndexError):
            return Times(computed, None)
        return Times(computed, waited / 1e9)


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
