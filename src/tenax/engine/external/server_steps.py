"""Runs the steps that the server carries out itself: sleeps, waits, children. They need no worker and take no slot of
one."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import structlog
from msgspec import UNSET, UnsetType

from tenax.engine.context import EngineContext
from tenax.engine.definitions.sender_turns import SenderTurns, sent_by
from tenax.engine.graph.settle import settle
from tenax.engine.graph.start_execution import OWN_KEYS, Start, insert_keyed
from tenax.engine.graph.template_scope import load_missing_inputs, load_results, step_scope
from tenax.engine.isolate_failures import Found, IsolatedItems
from tenax.engine.notifier import whenever
from tenax.engine.slices import Sliced
from tenax.errors import InvalidInput, Unreachable
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.decision import read_ledger
from tenax.model.definition.workflow import Budget
from tenax.model.durations import parse_duration
from tenax.model.events.data import StartedData
from tenax.model.events.parts import RetryCount, WaitingRecord
from tenax.model.events.types import ActionStarted
from tenax.model.inputs.schema_cost import NotAtOnce
from tenax.model.json_text import decode
from tenax.model.times import parse_time
from tenax.policy.expressions.compiler import EvaluationError
from tenax.policy.expressions.meter import Meter
from tenax.policy.outcome_events import EndedAttempt, item_event
from tenax.policy.plan import Plan
from tenax.policy.retry.budgets import PLACES
from tenax.policy.transitions import check
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.rows import Accepted, ExecutionRow, ParentItem, ServerItem
from tenax.store.tables import live_items, signals

BATCH = 200  # items that one transaction starts
MOST_SLOW = 100
"""Children that wait for the check of their inputs at the same time. More are left for later."""
MOST_SLOW_OF_ONE = 50
"""The same limit for one execution, so that the children of others have room."""
MOST_FULL = 1_000
"""Executions that are left until there is room for more of their children."""
FAILURE_MESSAGE = "a step of the server cannot be started"
LONGEST_SLEEP = timedelta(days=36_500)
_log = structlog.get_logger("tenax.server_steps")


class ServerSteps:
    """Starts the server's own steps when they are ready."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._wake = asyncio.Event()
        self._isolated = IsolatedItems()
        self._slow: dict[int, asyncio.Task[None]] = {}
        """Children whose inputs are checked in a reader process. Each starts by itself, so that it delays no
        other step."""
        self._slow_of: Counter[int] = Counter()
        """The number of these children by execution."""
        self._full: set[int] = set()
        """Executions with more slow children than are allowed to wait. The other items are left until there is room."""
        self._slow_at_once = SenderTurns(context.settings.aside_processes)

    def wake(self) -> None:
        self._wake.set()

    async def run(self) -> None:
        await whenever(self._wake, self.start)

    async def start(self) -> int:
        """Starts the steps that are ready now. Returns the number of items handled."""
        async with self._context.transaction() as tx:
            but = [*self._isolated.ids, *self._slow]
            found = await live_items.find_server_items(tx, BATCH, but, list(self._full))
        return await self._isolated.process(found, self._start, FAILURE_MESSAGE)

    async def finish_slow(self) -> None:
        """Waits until all steps that start by themselves have started."""
        while self._slow:
            await asyncio.wait(self._slow.values())

    def close(self) -> None:
        for task in self._slow.values():
            task.cancel()

    async def _start(self, found: Sequence[Found]) -> int:
        started, slow = await _start_batch(self._context, found, patient=False)
        for one in slow:
            if len(self._slow) < MOST_SLOW and self._slow_of[one[1]] < MOST_SLOW_OF_ONE:
                self._slow_of[one[1]] += 1
                self._slow[one[0]] = asyncio.create_task(self._start_slow(one))
            elif len(self._full) < MOST_FULL:
                self._full.add(one[1])
            else:
                self._isolated.isolate(one[0])
        return started

    async def _start_slow(self, one: Found) -> None:
        async def start(found: Sequence[Found]) -> int:
            return (await _start_batch(self._context, found, patient=True))[0]

        item_id, execution_id = one
        try:
            with sent_by("execution", execution_id):
                async with self._slow_at_once.turn():
                    await self._isolated.process([one], start, FAILURE_MESSAGE)
        except Unreachable:
            self._isolated.isolate(item_id)
        finally:
            del self._slow[item_id]
            self._slow_of -= Counter([execution_id])
            self._make_room()

    def _make_room(self) -> None:
        """Looks at executions again when half of their children that wait for a check have started. They are not looked
        at for each child, since a look renders the inputs of many."""
        if len(self._slow) > MOST_SLOW // 2:
            return
        if room := {id_ for id_ in self._full if self._slow_of[id_] <= MOST_SLOW_OF_ONE // 2}:
            self._full -= room
            self.wake()


async def _start_batch(
    context: EngineContext, found: Sequence[Found], *, patient: bool
) -> tuple[int, list[Found]]:
    """Starts these steps. Returns the number of items handled, and the items that were left because `patient` is False
    and their check takes long."""
    if not found:
        return 0, []
    async with context.transaction() as tx:
        executions, now = await live_items.lock_executions(tx, [execution_id for _, execution_id in found])
        if now is None:
            return 0, []
        items = await live_items.lock_server_items(tx, [item_id for item_id, _ in found])
        journal = Journal(now, max_result_bytes=context.settings.max_rendered)
        batch = _Batch(tx, context, journal, executions, patient)
        await batch.prepare(items)
        async for item in Sliced(items):
            await batch.start(item)
        await settle(tx, context, batch.journal, executions, batch.ended)
    context.notifier.announce(
        ready=journal.ready or batch.children,
        server_steps=journal.server_ready or batch.children,
        due_in=min((_seconds(now, a.until) for a in journal.accepted if a.until is not None), default=None),
        executions=journal.events.keys(),
        messages=journal.messages or batch.children,
    )
    return len(items), batch.slow


@dataclass(slots=True)
class _Batch:
    tx: Connection
    context: EngineContext
    journal: Journal
    executions: Mapping[int, ExecutionRow]
    patient: bool
    """The batch may wait for the check of an input."""
    slow: list[Found] = field(default_factory=list)
    """Items that were left because their check takes long."""
    plans: Mapping[int, Plan] = field(default_factory=dict)
    steps: dict[int, dict[str, Any]] = field(default_factory=dict)
    ended: list[EndedAttempt] = field(default_factory=list)
    """Attempts that ended at once: the signal had arrived already, or the inputs cannot be rendered."""
    children: bool = False

    async def prepare(self, items: Sequence[ServerItem]) -> None:
        self.plans = await self.context.plans.load(self.tx, {item.plan_id for item in items})
        keys = {
            (item.execution_id, name)
            for item in items
            for name in self.plans[item.plan_id].steps[item.step].reads
        }
        found = await load_results(self.tx, self.journal, sorted(keys)) if keys else {}
        await load_missing_inputs(self.tx, self.executions.values())
        self.steps = {
            id_: {name: step_scope(row) for name, row in rows.items()} for id_, rows in found.items()
        }

    async def start(self, item: ServerItem) -> None:
        check("item", item.state, "accepted")
        before = item.state, item.attempt, item.started_at
        item.state = "accepted"
        item.attempt += 1
        item.started_at = self.journal.now
        try:
            await self._carry_out(item, self._render(item))
        except (EvaluationError, InvalidInput) as error:
            reason = "template_error" if isinstance(error, EvaluationError) else "invalid_parameters"
            self._log_started(item)
            facts = Facts(failure_class="invalid", reason=reason, message=str(error))
            self.ended.append(EndedAttempt(item, Outcome("failed", facts=facts), "ended"))
        except NotAtOnce:
            item.state, item.attempt, item.started_at = before
            self.slow.append((item.id, item.execution_id))

    def _render(self, item: ServerItem) -> dict[str, Any]:
        vary = decode(item.vary)
        spec = self.plans[item.plan_id].steps[item.step].specs[vary["entry"] if vary else 0]
        row = self.executions[item.execution_id]
        scope = {
            "input": row.input or {},
            "steps": self.steps.get(row.id, {}),
            "execution_id": row.id,
            "attempt": item.attempt,
            "item": decode(item.element),
            "index": item.item_no,
        }
        return dict(spec.render(scope, Meter(*self.context.rendering)).value)

    async def _carry_out(self, item: ServerItem, spec: dict[str, Any]) -> None:
        match item.runtime:
            case "sleep":
                until = _wakes_at(spec, self.journal.now)
                self._accept(item, "sleep", until, WaitingRecord(for_="sleep", until=until))
            case "wait":
                await self._wait(item, spec)
            case _:
                await self._start_child(item, spec)

    async def _wait(self, item: ServerItem, spec: dict[str, Any]) -> None:
        name, deadline = spec.get("signal"), spec.get("deadline")
        asked = self.plans[item.plan_id].steps[item.step].step.spec.get("signal")
        if asked is not None and (not isinstance(name, str | int) or isinstance(name, bool) or name == ""):
            raise EvaluationError(f"`signal` of step {item.step}: it must give the name of a signal")
        until = None if deadline is None else self.journal.now + timedelta(seconds=deadline)
        name = None if name is None else str(name)
        waiting = WaitingRecord(
            for_="approval" if name is None else "signal",
            signal=UNSET if name is None else name,
            deadline_at=UNSET if until is None else until,
        )
        taken = None if name is None else await signals.take_signal(self.tx, item.execution_id, name, item.id)
        if taken is None:
            self._accept(item, "approval" if name is None else f"signal:{name}", until, waiting)
            return
        self._log_started(item, waiting)
        self.ended.append(EndedAttempt(item, Outcome("succeeded", taken.data), "ended"))

    async def _start_child(self, item: ServerItem, spec: dict[str, Any]) -> None:
        """Starts a child. It is identified by parent, step, item and attempt, so that starting it again finds the same
        child."""
        row = self.executions[item.execution_id]
        child = self.plans[item.plan_id].children[item.step]
        plan = await self.context.plans.one(self.tx, child.plan_id)
        given = spec.get("input") or {}
        if not isinstance(given, dict):
            raise EvaluationError(f"`input` of step {item.step}: it must give a mapping")
        if not self.patient and not self.context.reading.checks_shortly(plan.workflow, given):
            raise NotAtOnce
        checked = await self.context.reading.check(plan.workflow, given)
        lane = row.lane or (row.id if item.item_no is not None else 0)
        parent = ParentItem(row.id, item.id, item.step, item.item_no, item.attempt, lane)
        start = Start(
            plan=plan,
            plan_id=child.plan_id,
            input=checked,
            key=f"{OWN_KEYS}child:{row.id}:{item.step}:{'' if item.item_no is None else item.item_no}:{item.attempt}",
            base_dir=_folder(row.base_dir, child.folder),
            parent=parent,
            tree=row.id if row.budgeted else None,
            budget=_budget_left(self.plans[item.plan_id].steps[item.step].step.budget, item.ledger),
        )
        child_id = await insert_keyed(self.tx, self.context, self.journal.now, start)
        self.children = True
        until = None if item.timeout is None else self.journal.now + timedelta(seconds=item.timeout)
        waiting = WaitingRecord(for_="child", deadline_at=UNSET if until is None else until)
        self._accept(item, "child", until, waiting, child=child_id)

    def _accept(
        self,
        item: ServerItem,
        awaiting: str,
        until: datetime | None,
        waiting: WaitingRecord,
        child: int | UnsetType = UNSET,
    ) -> None:
        self._log_started(item, waiting, child)
        self.journal.accepted.append(Accepted(item.id, item.attempt, awaiting, until))

    def _log_started(
        self, item: ServerItem, waiting: WaitingRecord | UnsetType = UNSET, child: int | UnsetType = UNSET
    ) -> None:
        ledger = decode(item.ledger)
        retry = RetryCount(
            attempt=item.attempt,
            max_attempts=item.max_attempts,
            is_retry=bool(ledger and ledger["counted"] + ledger["exempted"]),
        )
        vary = decode(item.vary) if item.vary is not None else UNSET
        started = StartedData(worker=None, retry=retry, vary=vary, waiting=waiting, child=child)
        event = item_event(ActionStarted, item, started, attempt=item.attempt)
        self.journal.log(item.execution_id, event)


def _budget_left(budget: Budget | None, ledger: str | None) -> Budget | None:
    """Returns the rest of the budget of a step after its earlier children."""
    if budget is None:
        return None
    used = read_ledger(ledger, 0.0)
    cost = None if budget.cost_usd is None else max(round(budget.cost_usd - used.cost, PLACES), 0.0)
    return Budget(cost, None if budget.tokens is None else max(budget.tokens - used.tokens, 0))


def _wakes_at(spec: Mapping[str, Any], now: datetime) -> datetime:
    """Returns the time at which the item wakes: now, if the given time is past."""
    if "for" in spec:
        try:
            until = now + timedelta(seconds=parse_duration(spec["for"]))
        except (ValueError, OverflowError) as error:
            raise EvaluationError(f"`for`: {error}") from None
    else:
        until = _moment(spec["at"])
    if until - now > LONGEST_SLEEP:
        raise EvaluationError("a sleep lasts a hundred years at most")
    return max(until, now)


def _moment(given: Any) -> datetime:
    try:
        return parse_time(given)
    except ValueError as error:
        raise EvaluationError(f"`at`: {error}") from None


def _folder(parent: str | None, child: str | None) -> str | None:
    if parent is None or not child:
        return parent
    return f"{parent}/{child}"


def _seconds(now: datetime, until: datetime) -> float:
    return max(0.0, (until - now).total_seconds())
