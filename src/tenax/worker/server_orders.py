"""Follows what the server asks of the worker in its answers to heartbeats. Each change is logged once."""

from __future__ import annotations

import asyncio
import logging

from tenax.errors import Conflict
from tenax.model.fleet.health import WorkerState
from tenax.model.wire import HeartbeatAnswer

log = logging.getLogger("tenax.worker")


class ServerOrders:
    """Keeps whether the worker may go on, and the state that its operators requested."""

    def __init__(self, worker: str) -> None:
        self.must_leave = asyncio.Event()
        """Set when the worker must finish its running attempts and end."""
        self.superseded = False
        self._worker = worker
        self._state: WorkerState = "active"

    def apply(self, answer: HeartbeatAnswer, *, stopping: bool) -> None:
        if answer.superseded:
            if not self.superseded:
                # It is normal that the successor of a stopping worker takes over its name.
                level = logging.INFO if stopping else logging.ERROR
                log.log(level, "%s; no more work is asked for", self.conflict().message)
            self.superseded = True
            self.must_leave.set()
            return
        if answer.leave and not self.must_leave.is_set():
            log.warning("an operator drains this worker: it finishes its running attempts and ends")
            self.must_leave.set()
        elif answer.state != self._state and not self.must_leave.is_set():
            self._log_state(answer.state)
        self._state = answer.state

    def conflict(self) -> Conflict:
        return Conflict(
            f"another worker has taken over the name {self._worker}",
            remedy="give each worker its own name (--name or TENAX_WORKER_NAME)",
        )

    def _log_state(self, state: WorkerState) -> None:
        resume = f"`tenax workers resume {self._worker}`"
        match state:
            case "paused":
                log.warning("an operator has paused this worker: it gets no new work until %s", resume)
            case "draining":
                log.warning("the server drains this worker: it gets no new work until %s", resume)
            case "active":
                log.info("this worker gets work again")
            case "gone":
                log.warning("the server has given up this worker; it registers again")
