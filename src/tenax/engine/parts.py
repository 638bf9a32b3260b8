"""Makes the parts of an engine and connects them. Only here does a part get what it needs of another part."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tenax.engine.bulk.jobs import BulkJobs
from tenax.engine.bulk.runner import BulkRunner
from tenax.engine.context import EngineContext
from tenax.engine.external.child_inbox import InboxDelivery
from tenax.engine.external.server_steps import ServerSteps
from tenax.engine.fleet.heartbeats import Heartbeats
from tenax.engine.lease.dispatcher import Dispatcher
from tenax.engine.metrics.metrics import Metrics
from tenax.engine.notifier import Listeners
from tenax.engine.operate import family
from tenax.engine.operate.filters import SavedFilters
from tenax.engine.operate.tokens import Tokens
from tenax.engine.operate.workflow_pauses import WorkflowPauses
from tenax.engine.recover.budget_keeper import BudgetKeeper
from tenax.engine.recover.maintenance import Maintenance
from tenax.engine.recover.reap import Reaper
from tenax.engine.recover.timers import Timers
from tenax.engine.report.release import give_up_unwanted, release, release_grants
from tenax.engine.report.report_batches import ReportBatches
from tenax.engine.schedules.runner import ScheduleRunner
from tenax.engine.schedules.schedules import Schedules
from tenax.engine.submit.batches import Submissions
from tenax.engine.submit.requested_submissions import RequestedSubmissions
from tenax.settings import Settings
from tenax.store.connect import Database


class Parts:
    """Holds the parts of an engine that keep state between two calls."""

    def __init__(self, database: Database, settings: Settings, roll: Callable[[], float]) -> None:
        self.context = EngineContext(database, settings, roll=roll)
        self.report = ReportBatches(self.context)
        self.heartbeat = Heartbeats(self.context)
        self.dispatcher = Dispatcher(
            self.context,
            report=self.report,
            release=partial(release, self.context),
            release_grants=partial(release_grants, self.context),
        )
        self.submit = Submissions(self.context, self.dispatcher.reserve)
        self.server_steps = ServerSteps(self.context)
        self.inbox_delivery = InboxDelivery(self.context, partial(family.cancel_for_parent, self.context))
        self.reaper = Reaper(self.context)
        self.budget_keeper = BudgetKeeper(self.context)
        self.schedules = Schedules(self.context)
        self.schedule_runner = ScheduleRunner(self.context)
        self.timers = Timers(self.context, self.reaper, self.schedule_runner.start_due)
        self.maintenance = Maintenance(
            self.context,
            self.dispatcher.fleet,
            wake_dispatcher=self.dispatcher.wake,
            give_up_unwanted=partial(give_up_unwanted, self.context),
        )
        self.metrics = Metrics(self.context, self.maintenance.leadership)
        self.filters = SavedFilters(self.context)
        self.tokens = Tokens(self.context)
        self.bulk_runner = BulkRunner(self.context, lambda: self.maintenance.leadership.leads)
        self.bulk = BulkJobs(self.context, self.bulk_runner.wake)
        self.workflow_pauses = WorkflowPauses(self.context, lambda: self.maintenance.leadership.leads)
        self.requested = RequestedSubmissions(self.context, lambda: self.maintenance.leadership.leads)
        self.context.notifier.tell(self._listeners())

    def _wake_server_work(self) -> None:
        """Wakes what the server itself carries out."""
        self.server_steps.wake()
        self.budget_keeper.wake()

    def _listeners(self) -> Listeners:
        """Returns the functions that the notifier of this process calls."""
        return Listeners(
            ready=self.dispatcher.wake,
            restricted=self.dispatcher.look_anew,
            fleet=self.maintenance.look_soon,
            server_steps=self._wake_server_work,
            messages=self.inbox_delivery.wake,
            due=self.timers.note,
            connected=self.maintenance.schema.look_soon,
            worker_effects=self.dispatcher.note_worker_effects,
            handed_back=self.dispatcher.fleet.note_handed_back,
            requests=self.requested.wake,
        )
