"""The time limit of a function that runs in the event loop."""

from __future__ import annotations

import asyncio


class Limits:
    """Limits the time of attempts. Most of them are over before they wait for anything: only those that are still there at
    the loop's next turn get an alarm."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._fresh: set[Limit] = set()
        """Those without an alarm."""
        self._will_look = False

    def begin(self, seconds: float) -> Limit:
        """For the task that asks, from now on."""
        task = asyncio.current_task(self._loop)
        assert task is not None
        if not self._will_look:
            self._will_look = True
            self._loop.call_soon(self._set_alarms)
        limit = Limit(task, self._loop.time() + seconds, self._fresh)
        self._fresh.add(limit)
        return limit

    def _set_alarms(self) -> None:
        self._will_look = False
        for limit in self._fresh:
            limit.set_alarm()
        self._fresh.clear()


class Limit:
    """Cancels its task when the time is up. What `asyncio.timeout` does, at a fraction of the price: there is one for every
    attempt."""

    __slots__ = ("_alarm", "_due", "_fresh", "_task", "over")

    def __init__(self, task: asyncio.Task[object], due: float, fresh: set[Limit]) -> None:
        self._task = task
        self._due = due
        self._fresh = fresh
        self._alarm: asyncio.TimerHandle | None = None
        self.over = False

    def set_alarm(self) -> None:
        self._alarm = self._task.get_loop().call_at(self._due, self._ring)

    @property
    def others_cancel(self) -> bool:
        """Someone else wants the task to end, whatever the time."""
        return self._task.cancelling() > self.over

    def lift(self) -> None:
        if self._alarm is None:
            self._fresh.remove(self)
            return
        self._alarm.cancel()
        if self.over:
            self._task.uncancel()  # it was ours, and is over

    def _ring(self) -> None:
        self.over = True
        self._task.cancel()
