"""Makes the parts of an engine and connects them: what one needs of another is handed to it here, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tenax.engine.context import Core
from tenax.engine.external.child_inbox import Postman
from tenax.engine.external.server_steps import ServerSteps
from tenax.engine.fleet.heartbeats import Heartbeats
from tenax.engine.group_commit import GroupCommit
from tenax.engine.lease.dispatcher import Dispatcher
from tenax.engine.notifier import Listeners
from tenax.engine.operate import family
from tenax.engine.recover.maintenance import Housekeeping
from tenax.engine.recover.reap import Reaper
from tenax.engine.recover.timers import Timers
from tenax.engine.report.release import give_up_unwanted, release_grants
from tenax.engine.report.repeated_tokens import report_in_turn
from tenax.engine.submit.batches import Submissions
from tenax.model.wire import Report, ReportAnswer
from tenax.settings import Settings
from tenax.store.connect import Database

_REPORTS_AT_ONCE = 2
"""Batches of reports: one is made ready while the database works on the other."""


class Parts:
    """The verbs that keep something between two calls, and what they share."""

    def __init__(self, database: Database, settings: Settings, roll: Callable[[], float]) -> None:
        self.core = Core(database, settings, roll=roll)
        self.report = GroupCommit[Report, ReportAnswer](
            lambda reports: report_in_turn(self.core, reports), at_once=_REPORTS_AT_ONCE
        )
        self.heartbeat = Heartbeats(self.core)
        self.dispatcher = Dispatcher(
            self.core, report=self.report, release=partial(release_grants, self.core)
        )
        self.submit = Submissions(self.core, self.dispatcher.reserve)
        self.server_steps = ServerSteps(self.core)
        self.postman = Postman(self.core, partial(family.cancel_for_parent, self.core))
        self.reaper = Reaper(self.core)
        self.timers = Timers(self.core, self.reaper)
        self.housekeeping = Housekeeping(
            self.core,
            self.dispatcher.fleet,
            wake_dispatcher=self.dispatcher.wake,
            give_up_unwanted=partial(give_up_unwanted, self.core),
        )
        self.core.hub.tell(self._listeners())

    def _listeners(self) -> Listeners:
        """Returns who hears of what, in this process."""
        return Listeners(
            ready=self.dispatcher.wake,
            special=self.dispatcher.look_anew,
            fleet=self.housekeeping.look_soon,
            server_steps=self.server_steps.wake,
            messages=self.postman.wake,
            due=self.timers.note,
            connected=self.housekeeping.schema.look_soon,
            settled=self.dispatcher.note_settled,
            handed_back=self.dispatcher.fleet.note_handed_back,
        )
