"""Limits the time of functions that run in the event loop."""

from __future__ import annotations

import asyncio


class Deadlines:
    """Starts the deadlines of attempts.

    Most attempts end before they wait for anything. A deadline therefore gets its timer only if its attempt still runs at the
    loop's next turn.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._without_alarm: set[Deadline] = set()
        """Deadlines that have no timer yet."""
        self._check_scheduled = False

    def start(self, seconds: float) -> Deadline:
        """Starts a deadline for the calling task, `seconds` from now."""
        task = asyncio.current_task(self._loop)
        assert task is not None
        if not self._check_scheduled:
            self._check_scheduled = True
            self._loop.call_soon(self._set_alarms)
        deadline = Deadline(task, self._loop.time() + seconds, self._without_alarm)
        self._without_alarm.add(deadline)
        return deadline

    def _set_alarms(self) -> None:
        self._check_scheduled = False
        for deadline in self._without_alarm:
            deadline.set_alarm()
        self._without_alarm.clear()


class Deadline:
    """Cancels its task when the time is up.

    It does what `asyncio.timeout` does, at a fraction of the cost: every attempt has one.
    """

    __slots__ = ("_alarm", "_due", "_task", "_without_alarm", "expired")

    def __init__(self, task: asyncio.Task[object], due: float, without_alarm: set[Deadline]) -> None:
        self._task = task
        self._due = due
        self._without_alarm = without_alarm
        self._alarm: asyncio.TimerHandle | None = None
        self.expired = False

    def set_alarm(self) -> None:
        self._alarm = self._task.get_loop().call_at(self._due, self._ring)

    @property
    def cancelled_by_others(self) -> bool:
        """True if something other than this deadline has cancelled the task."""
        return self._task.cancelling() > self.expired

    def end(self) -> None:
        if self._alarm is None:
            self._without_alarm.remove(self)
            return
        self._alarm.cancel()
        if self.expired:
            self._task.uncancel()  # this deadline's own cancellation has been handled

    def _ring(self) -> None:
        self.expired = True
        self._task.cancel()
