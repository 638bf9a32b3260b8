"""Takes in the outcomes that workers report. Every write is fenced by the lease's token."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from tenax.engine.context import EngineContext
from tenax.engine.graph.budget_book import is_in_tree
from tenax.engine.graph.settle import settle
from tenax.engine.late_results import answer_late
from tenax.engine.notifier import WorkerEffects, announce
from tenax.engine.report.believed_reports import believed_reports
from tenax.engine.slices import LARGE, TimeSlice
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.changes import ItemAgain, Run, StepRow
from tenax.model.decision import Verdict
from tenax.model.events import event
from tenax.model.events.data import AcceptedData
from tenax.model.events.types import ActionAccepted, ExecutionCompleted, StepEnqueued
from tenax.model.json_text import encode
from tenax.model.wire import Report, ReportAnswer
from tenax.policy.outcome_events import EndedAttempt, item_event
from tenax.policy.plan import Plan
from tenax.policy.transition import Transition, transition
from tenax.policy.transitions import check
from tenax.store import service
from tenax.store.applications.attempt_results import take_results
from tenax.store.connect import Connection
from tenax.store.item_changes import Change, Expects
from tenax.store.journal import Journal
from tenax.store.rows import Accepted, ItemRow, LeasedItem
from tenax.store.tables import live_items

EXECUTION_COMPLETED = event(ExecutionCompleted)


async def report(context: EngineContext, reports: Sequence[Report]) -> list[ReportAnswer]:
    """Decides on all reported outcomes in one transaction. A late report is recorded and changes nothing.

    A report on a lease that this server granted is decided on from memory if nothing else needs to be known. The
    statement that writes it checks that everything is unchanged. All other reports are decided on from locked rows, and
    so are those that fail this check.
    """
    reports = believed_reports(reports, context.report_limits)
    batch = ReportBatch(context, reports)
    runs = batch.runs
    try:
        await batch.write()
        if refused := batch.refused:
            again = ReportBatch(context, refused, use_memory=False)
            runs = again.runs = batch.runs
            await again.write()
            batch.answers |= again.answers
    finally:
        _tell_of_workers(context, reports, runs)
    answers = batch.answers
    return [answers.get(r.token) or ReportAnswer(r.item_id, "late") for r in reports]


def _tell_of_workers(context: EngineContext, reports: Sequence[Report], runs: list[Run]) -> None:
    """Passes on what the attempts say about their workers, in the order of the reports: a streak of failures depends on
    it."""
    if not runs:
        return
    if any(run.outcome != "sound" for run in runs):
        order = {r.item_id: n for n, r in enumerate(reports)}
        runs.sort(key=lambda run: order[run.item_id])
    if context.notifier.listeners.worker_effects(WorkerEffects(runs)):
        context.notifier.announce(ready=True)


class ReportBatch:
    """Reports that are written in one transaction."""

    def __init__(self, context: EngineContext, reports: Sequence[Report], *, use_memory: bool = True) -> None:
        self._context = context
        self._reports = reports
        self._decided: list[tuple[Report, Verdict, float | None, Run | None]] = []
        """Decisions made from memory, in the order of the journal's guarded changes."""
        self.answers: dict[str, ReportAnswer] = {}
        """The answers by lease token."""
        self.from_memory: list[tuple[Plan, LeasedItem, Report]] = []
        self.from_rows: list[Report] = []
        self._delays: list[float] = []
        self.runs: list[Run] = []
        """The effects of the attempts on their workers, for use after the commit."""
        often = Counter(r.execution_id for r in reports)
        for r in reports:
            item = context.lease_cache.take(r.token) if use_memory else None
            plan = context.plans.known(item.plan_id) if item is not None else None
            # Two reports of one execution may depend on each other: they are decided on one after the other, under
            # its lock.
            if (
                item is not None
                and plan is not None
                and often[r.execution_id] == 1
                and _is_alone(plan, item, r)
            ):
                self.from_memory.append((plan, item, r))
            else:
                self.from_rows.append(r)

    @property
    def refused(self) -> list[Report]:
        """The reports whose decisions from memory were refused by the guards of the statement."""
        return [one[0] for one in self._decided if one[0].token not in self.answers]

    async def write(self) -> None:
        async with self._context.statements() as session:
            journal = Journal(await service.now(session))
            await self.decide_from_memory(journal)
            if self.from_rows:
                async with session.transaction():
                    await self._write_under_lock(session, journal)
            elif journal.guarded:
                await journal.write(session)
        self.note_applied(journal, {change.item_id for change in journal.guarded})
        self._announce(journal)

    # -- from memory

    async def decide_from_memory(self, journal: Journal) -> None:
        """Decides on the reports whose facts are in memory. Reports that need more are left to the locked way."""
        rules, roll, time_slice = self._context.rules, self._context.roll, TimeSlice()
        for plan, item, r in self.from_memory:
            if time_slice.is_over:
                await time_slice.give_way()
            ended = EndedAttempt(item, r.outcome)
            made = transition(
                plan, ended, execution_open=True, fan_out=None, rules=rules, now=journal.now, roll=roll()
            )
            change = guarded_change(plan, made)
            if change is None:
                self.from_rows.append(r)
                continue
            # Only what is needed later is kept: hundreds of whole transitions in memory would cost as much as making
            # them.
            decision = made.decision
            delay = decision.delay.delay if decision.delay is not None else None
            self._decided.append((r, decision.verdict, delay, made.run))
            journal.guarded.append(change)
            journal.queues_restricted_item |= change.next is not None and item.lane != 0

    def note_applied(self, journal: Journal, applied: set[int]) -> None:
        for r, verdict, delay, run in self._decided:
            if r.item_id not in applied:
                continue
            self.answers[r.token] = ReportAnswer(r.item_id, "applied", verdict)
            journal.events[r.execution_id] = []  # callers that follow the execution are notified
            if delay is not None:
                self._delays.append(delay)
            if run is not None:
                self.runs.append(run)

    # -- from the rows

    async def _write_under_lock(self, tx: Connection, journal: Journal) -> None:
        order = {r.token: n for n, r in enumerate(self._reports)}
        reports = sorted(self.from_rows, key=lambda r: order[r.token])
        executions, now = await live_items.lock_executions(tx, [r.execution_id for r in reports])
        if (
            now is not None
        ):  # the transaction that held the locks before has written events of an earlier time
            journal.guarded_now, journal.now = journal.now, now
        recorded = await _take_recorded(tx, reports)
        items = await live_items.load_leased_items(
            tx, [r.item_id for r in reports], [r.token for r in reports]
        )
        plans = await self._context.plans.load(tx, {item.plan_id for item in items})
        leased = {item.lease_token: item for item in items if item.plan_id in plans}
        if recorded is not None:
            contradicting = [r for r in reports if r.token in recorded and r.outcome.status != "succeeded"]
            reports = [_as_recorded(r, recorded, leased) for r in reports]
        current = [r for r in reports if r.token in leased and _is_of(leased[r.token], r)]
        late = [r for r in reports if r.token not in leased and r.execution_id in executions]
        # This comes before any limit is locked: a claim that has one of these items may be waiting for that lock.
        if late:
            for (_, token), answer in (
                await answer_late(
                    tx, journal.now, late, believed=believed, most=self._context.settings.max_late_result
                )
            ).items():
                self.answers[token] = answer
        ended = [r for r in current if not self._accept(journal, plans, leased[r.token], r)]
        attempts = [EndedAttempt(leased[r.token], believed(r.outcome)) for r in ended]
        decisions = await settle(tx, self._context, journal, executions, attempts)
        for r, decision in zip(ended, decisions, strict=True):
            self.answers[r.token] = ReportAnswer(r.item_id, "applied", decision.verdict)
            if decision.verdict == "retry" and decision.delay is not None:
                self._delays.append(decision.delay.delay)
        if recorded is not None:
            await self._note_late(tx, journal.now, [r for r in contradicting if r.token in leased])

    async def _note_late(self, tx: Connection, now: datetime, late: Sequence[Report]) -> None:
        """Records what workers have reported of attempts whose own transactions have committed another end."""
        if late:
            most = self._context.settings.max_late_result
            await answer_late(tx, now, late, believed=believed, most=most)

    def _accept(self, journal: Journal, plans: Mapping[int, Plan], item: ItemRow, r: Report) -> bool:
        """Applies an acceptance if the step is async and its callee has accepted the attempt. Returns
        whether it did."""
        if r.outcome.status != "accepted":
            return False
        deadline = _async_deadline(plans[item.plan_id], item)
        if deadline is None:
            return False
        _accept(journal, item, r.outcome, deadline)
        self.answers[r.token] = ReportAnswer(r.item_id, "applied")
        return True

    def _announce(self, journal: Journal) -> None:
        self.runs += journal.runs
        journal.runs = []
        waits = [(a.until - journal.now).total_seconds() for a in journal.accepted if a.until is not None]
        announce(self._context.notifier, journal, [*self._delays, *waits])


async def _take_recorded(tx: Connection, reports: Sequence[Report]) -> Mapping[str, Any] | None:
    """Takes the results that the attempts of these reports have recorded in transactions of their own, by token. Returns None
    if no report says that it may have one.

    The items are locked, so that a transaction that is committing now ends before the results are read.
    """
    named = [r for r in reports if r.outcome.recorded]
    if not named:
        return None
    await live_items.lock_items(tx, [r.item_id for r in named])
    return await take_results(tx, [r.token for r in named])


def _as_recorded(r: Report, recorded: Mapping[str, Any], leased: Container[str | None]) -> Report:
    """Replaces what a worker says of an attempt by what the attempt's own transaction has recorded."""
    outcome = r.outcome
    if r.token in recorded:
        return replace(r, outcome=Outcome("succeeded", recorded[r.token], usage=outcome.usage))
    if outcome.recorded and outcome.status == "succeeded" and r.token in leased:
        message = "the task succeeded, but the transaction that was to complete the attempt was not committed"
        facts = Facts(failure_class="transient", reason="not_committed", message=message)
        return replace(r, outcome=Outcome("failed", facts=facts, usage=outcome.usage))
    return r


def _is_of(item: ItemRow | LeasedItem, report: Report) -> bool:
    """Returns whether a report names the item that its token belongs to."""
    return item.id == report.item_id and item.execution_id == report.execution_id


def _is_alone(plan: Plan, item: LeasedItem, report: Report) -> bool:
    """Returns whether the consequences depend on nothing but the item: it is its whole step, it has no limit, and every
    attempt has the same consequences."""
    return (
        item.item_no is None
        and not item.compensates
        and _is_of(item, report)
        and plan.steps[item.step].step.concurrency is None
        and report.outcome.status != "accepted"
        and not report.outcome.recorded
        and not is_in_tree(item.ledger)
        and (report.outcome.status != "succeeded" or item.step in plan.fixed_successors)
    )


def guarded_change(plan: Plan, made: Transition) -> Change | None:
    """Makes the guarded change of a transition that was decided from memory. Returns None if more than the item and the
    one step behind it is concerned."""
    again, step = made.again, made.ended_step
    if made.letter is not None:
        return None
    if again is not None:
        return None if again.state != "retrying" or made.suspect else _retried(made, again)
    return None if step is None or step.state != "completed" else _completed(plan, made, step)


def _retried(made: Transition, again: ItemAgain) -> Change:
    # By position, here and below: keyword arguments would take twice as long, and this runs for each attempt.
    return Change(
        again.id, made.item.lease_token, again.execution_id, "running", again.state, again.available_at,
        again.expires_at, None, again.ledger, again.last_error, None, None, again.previous, again.vary, None, None, None, encode(made.events), None,
    )  # fmt: skip


def _completed(plan: Plan, made: Transition, step: StepRow) -> Change:
    """Makes the change for a completed step: its one successor is queued, or the execution is complete."""
    item, follower, result = made.item, plan.fixed_successors[step.step].next, step.result
    result_text = None if result is None else encode(result)
    if (
        result_text is not None and len(result_text) > LARGE
    ):  # encoding it again for its event would take as long
        made.events[0]["data"] = replace(made.events[0]["data"], result=Raw(result_text.encode()))
    if follower is None:
        check("execution", "running", "completed")
        expects: Expects = "last_step"
        whole, then, queued = f"{{{encode(step.step)}:{result_text or 'null'}}}", EXECUTION_COMPLETED, None
    else:
        expects, whole, then, queued = (
            "more_steps",
            None,
            event(StepEnqueued, follower),
            plan.steps[follower].queued,
        )
    return Change(
        item.id, item.lease_token, item.execution_id, expects, None, None, None, None, None, None, None, None, None,
        None, None if plan.single else True, None if plan.single else result_text, whole, encode([*made.events, then]), queued,
    )  # fmt: skip


def _async_deadline(plan: Plan, item: ItemRow) -> float | None:
    """Returns how long a callee may take after accepting an attempt of this item. Returns None if the step is not
    async."""
    spec = plan.action(item.step, compensates=item.compensates).step.spec
    return spec["async"]["deadline"] if "async" in spec else None


def _accept(journal: Journal, item: ItemRow, outcome: Outcome, deadline: float) -> None:
    """Gives the item to its callee: the lease ends, and a timer of the server holds the deadline."""
    check("item", item.state, "accepted")
    until = journal.now + timedelta(seconds=deadline)
    data = AcceptedData(deadline_at=until, result=outcome.result, item_id=item.id)
    token = item.lease_token
    journal.log(item.execution_id, item_event(ActionAccepted, item, data, attempt=item.attempt, token=token))
    journal.accepted.append(Accepted(item.id, item.attempt, "callback", until))
    if item.worker is not None:
        journal.runs.append(Run(item.worker, item.id, item.started_at, "sound"))


def believed(outcome: Outcome) -> Outcome:
    """Returns a failure in place of an acceptance, because only the callee of an async step can accept an attempt."""
    if outcome.status == "accepted":
        message = "the worker says that a callee has accepted it, but the step is not async"
        return Outcome(
            "failed", facts=Facts(failure_class="invalid", reason="invalid_result", message=message)
        )
    return outcome
