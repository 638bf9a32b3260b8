"""Holds what the operations share: the database, the settings, the caches, and the notifier that is told of each commit."""

from __future__ import annotations

import contextlib
import random
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager

import structlog

from tenax.engine.caches.input_cache import InputCache
from tenax.engine.caches.known_manifests import KnownManifests
from tenax.engine.caches.lease_cache import LeaseCache
from tenax.engine.caches.named_plans import PACK, NamedPlans, Stamp
from tenax.engine.caches.weighted_cache import WeightedCache, weight_of_plan
from tenax.engine.definitions.reading import Reading
from tenax.engine.definitions.sender_turns import SenderTurns
from tenax.engine.measures import Measures
from tenax.engine.notifier import Notifier
from tenax.errors import Conflict, NotFound, SchemaOutdated
from tenax.model.attempt.bounded import ReportLimits
from tenax.model.definition.tiers import ServerRetry
from tenax.model.parse.retry_fields import retry_of_settings
from tenax.policy.expressions.meter import WorkBudget
from tenax.policy.plan import Plan
from tenax.policy.transition import ServerRules
from tenax.settings import Settings
from tenax.settings.agents import tier_policies
from tenax.store.applications.rejected_submissions import find_fate
from tenax.store.connect import Connection, Database
from tenax.store.dispatch.claims import LeaseTerms
from tenax.store.rows import WorkflowPause
from tenax.store.tables import packs, plans
from tenax.store.tables.steps import ResultCache
from tenax.store.transaction import session, snapshot, transaction

PLAN_CACHES = 3
"""Number of caches that share `plan_memory`: plans by id, plans by name, and definitions by their source."""
VIEWS_AT_ONCE = 4
"""Views that are made at the same time. The pool has eight sessions for everything that is not urgent. One sender has at
most three of the views."""
_log = structlog.get_logger("tenax.plans")


class PlanCache:
    """Keeps plans by id. Plans never change, so a cached plan is always current."""

    def __init__(self, reading: Reading, most: int) -> None:
        self._reading = reading
        self._by_id: WeightedCache[int, Plan] = WeightedCache(most, weight_of_plan)
        self._ids: dict[str, int] = {}

    async def load(self, tx: Connection, plan_ids: Iterable[int]) -> dict[int, Plan]:
        """Loads plans. The caller holds them: the cache may drop any of them at the next await.

        A plan that this version cannot read is logged and left out, so that it does not stop the others.
        """
        held: dict[int, Plan] = {}
        for plan_id in set(plan_ids):
            plan = self._by_id.use(plan_id)
            if plan is None:
                stored = await plans.load_plan(tx, plan_id)
                try:
                    plan = await self._reading.restore_plan(stored)
                except Exception:  # noqa: BLE001 -- the fault, whatever it is, concerns this plan only
                    _log.exception("a stored plan cannot be read", plan_id=plan_id)
                    continue
                self.keep(plan_id, plan)
            held[plan_id] = plan
        return held

    async def one(self, tx: Connection, plan_id: int) -> Plan:
        found = await self.load(tx, [plan_id])
        if plan_id not in found:
            raise Conflict(
                "the definition of this execution was stored by another version of Tenax, and this one cannot read it",
                remedy="run the version that stored it; `tenax events` and `tenax cancel` work all the same",
            )
        return found[plan_id]

    def known(self, plan_id: int) -> Plan | None:
        """Returns a plan if it is in memory."""
        return self._by_id.peek(plan_id)

    def use(self, plan_id: int) -> Plan | None:
        """Returns a plan if it is in memory. This counts as a use, so that the plan stays there for longer."""
        return self._by_id.use(plan_id)

    def id_of(self, plan: Plan) -> int | None:
        return self._ids.get(plan.hash)

    def keep(self, plan_id: int, plan: Plan) -> None:
        self._ids[plan.hash] = plan_id
        for gone in self._by_id.keep(plan_id, plan):
            self._ids.pop(gone.hash, None)

    @property
    def weight(self) -> int:
        """Estimated bytes that the plans take."""
        return self._by_id.weight


class EngineContext:
    """Holds the state of one server process that all operations share."""

    def __init__(
        self, database: Database, settings: Settings, *, roll: Callable[[], float] = random.random
    ) -> None:
        self.database = database
        self.settings = settings
        self.roll = roll
        self.rendering = WorkBudget(2 * settings.expression_work, settings.max_rendered)
        """The budget of one rendering: the templates of a step, its `when`, its list, or the outputs of a workflow."""
        share = settings.plan_memory // PLAN_CACHES
        self._views = SenderTurns(VIEWS_AT_ONCE)
        self.named_plans = NamedPlans(self._find_current_meanings, share)
        self.manifests = KnownManifests()
        self.results = ResultCache()
        self.notifier = Notifier(database)
        self.measures = Measures()
        self.lease_cache = LeaseCache()
        self.input_cache = InputCache()
        self.secret = b""
        self.workflow_pauses: Mapping[str, WorkflowPause] = {}
        """The pauses of workflows by name, as this server read them last."""
        self.callback_base: str | None = settings.callback_url
        """The address at which this server can be called back. A server that listens sets it itself."""
        self.refusal: SchemaOutdated | None = None
        """The error to raise if this server may no longer use the database. None while it may."""
        source = settings.sources.get("retry", "the setting retry")
        server_retry = ServerRetry(retry_of_settings(settings.retry, source), tier_policies(settings))
        self.reading = Reading(settings, server_retry, share)
        self.plans = PlanCache(self.reading, share)

    @property
    def rules(self) -> ServerRules:
        settings = self.settings
        return ServerRules(
            settings.retries_enabled, settings.poison_after, settings.max_hold, settings.expression_work
        )

    @property
    def report_limits(self) -> ReportLimits:
        return ReportLimits(self.settings.max_message, self.settings.max_evidence)

    @property
    def terms(self) -> LeaseTerms:
        return LeaseTerms(self.settings.lease, self.settings.timeout_grace)

    async def plan_id(self, plan: Plan, texts: plans.Texts | None = None) -> int:
        """Returns the id of a plan, and stores the plan if it is new. It is stored in a transaction of its own, so that
        it outlives the batch that needs it."""
        plan_id = self.plans.id_of(plan)
        if plan_id is None:
            async with self.transaction() as tx:
                plan_id = await plans.ensure_plan(tx, plan, texts)
            self.plans.keep(plan_id, plan)
        return plan_id

    async def _find_current_meanings(self, names: list[str]) -> list[Stamp | None]:
        """Returns what each name of a workflow or of a pack means now."""
        workflows = [name for name in names if not name.startswith(PACK)]
        of_packs = [name.removeprefix(PACK) for name in names if name.startswith(PACK)]
        found: dict[str, Stamp | None] = {}
        async with self.statements() as tx:
            if workflows:
                found.update(zip(workflows, await plans.find_current_workflows(tx, workflows), strict=True))
            if of_packs:
                current = await packs.find_packs(tx, of_packs)
                found.update({PACK + name: current.get(name) for name in of_packs})
        return [found[name] for name in names]

    def transaction(self) -> AbstractAsyncContextManager[Connection]:
        return transaction(self._allowed())

    def _allowed(self) -> Database:
        if self.refusal is not None:
            raise SchemaOutdated(self.refusal.message, remedy=self.refusal.remedy)
        return self.database

    @contextlib.asynccontextmanager
    async def view(self) -> AsyncIterator[Connection]:
        """Opens a transaction for a view that people asked for. Only `VIEWS_AT_ONCE` of these are open at a time: a
        view of a large execution takes long, and a caller that opens a hundred views must leave sessions to the
        server's own work. Callers take turns, so that none waits for all views of another."""
        async with self._views.turn(), self.transaction() as tx:
            yield tx

    @contextlib.asynccontextmanager
    async def view_snapshot(self) -> AsyncIterator[Connection]:
        """Opens a snapshot for a view that people asked for, as one of those that `view` bounds."""
        async with self._views.turn(), self.snapshot() as tx:
            yield tx

    def snapshot(self) -> AbstractAsyncContextManager[Connection]:
        """Opens a read-only transaction that sees the database as it is now until it ends."""
        return snapshot(self._allowed())

    def statements(self) -> AbstractAsyncContextManager[Connection]:
        """Opens a planned session in which each statement is a transaction of its own."""
        return session(self._allowed())

    def planned_transaction(self) -> AbstractAsyncContextManager[Connection]:
        """Opens a transaction for planned statements. They follow indexes whatever the tables hold."""
        return transaction(self._allowed(), planned=True)


def no_letter(letter_id: int) -> NotFound:
    return NotFound(
        f"there is no dead letter {letter_id}",
        remedy="`tenax dead-letters list --all` shows the dead letters there are",
    )


def no_execution(execution_id: int) -> NotFound:
    return NotFound(
        f"there is no execution {execution_id}", remedy="`tenax list` shows the executions there are"
    )


async def unknown_execution(tx: Connection, execution_id: int) -> NotFound:
    """Returns the error for an execution that there is not. If an application submitted it, the error says what became
    of it."""
    fate = await find_fate(tx, execution_id)
    if fate is None:
        return no_execution(execution_id)
    if fate.reason is None:
        return NotFound(f"execution {execution_id} is submitted, and no server has started it yet")
    return NotFound(
        f"there is no execution {execution_id}: its submission was rejected ({fate.reason}): {fate.message}",
        remedy="correct it and submit it again; the view ops.rejected_submissions has its input",
    )
