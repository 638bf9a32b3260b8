"""Workers report what attempts came to, or hand leases back. Every write is fenced by the lease's token."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from tenax.engine.core import Core
from tenax.engine.fan_out import fan_key
from tenax.engine.finish import Ended, Key, finish_at_once
from tenax.engine.finish_fans import finish_fan_items
from tenax.engine.late import answer_late
from tenax.engine.records import log_item
from tenax.engine.retry_at_once import retry_at_once
from tenax.engine.settle import EndedAttempt, settle
from tenax.engine.wake import announce
from tenax.model.belief import believed_reports
from tenax.model.decision import Decision
from tenax.model.events import event, timestamp
from tenax.model.outcome import Facts, Outcome
from tenax.model.wire import Release, Report, ReportAnswer
from tenax.policy.plan import Plan
from tenax.policy.transitions import check
from tenax.store import queue, workers
from tenax.store.connect import Connection
from tenax.store.fans import load_fans
from tenax.store.journal import Journal
from tenax.store.rows import Accepted, ExecutionRow, FanRow, ItemRow, Run


async def report(core: Core, reports: Sequence[Report]) -> list[ReportAnswer]:
    """Decides on every reported outcome. What is late is recorded and changes nothing."""
    reports = believed_reports(reports)
    known = [Ended(item, r) for r in reports if (item := core.leased.take(r.token)) is not None]
    answers = await finish_at_once(core, [one for one in known if one.item.item_no is None])
    answers |= await retry_at_once(core, known)
    answers |= await finish_fan_items(core, [one for one in known if one.item.item_no is not None])
    if rest := [r for r in reports if (r.item_id, r.token) not in answers]:
        answers |= await _report_in_full(core, rest)
    return [answers.get((r.item_id, r.token), ReportAnswer(r.item_id, "late")) for r in reports]


async def _report_in_full(core: Core, reports: Sequence[Report]) -> dict[Key, ReportAnswer]:
    answers: dict[Key, ReportAnswer] = {}
    async with core.transaction() as tx:
        executions, now = await queue.lock_executions(tx, [r.execution_id for r in reports])
        if now is not None:
            items = await queue.load_leased_items(
                tx, [r.item_id for r in reports], [r.token for r in reports]
            )
            plans = await core.plans.load(tx, {item.plan_id for item in items})
            held = {(item.id, str(item.lease_token)): item for item in items if item.plan_id in plans}
            current = {key: r for r in reports if (key := (r.item_id, r.token)) in held}
            late = [r for r in reports if (r.item_id, r.token) not in held and r.execution_id in executions]
            # Before any limit is locked: a claim that has one of these items may be waiting for that.
            answers |= await answer_late(tx, now, late) if late else {}
            journal, decisions = Journal(now), list[Decision]()
            for key in [key for key, r in current.items() if r.outcome.status == "accepted"]:
                deadline = _async_deadline(plans[held[key].plan_id], held[key])
                if deadline is not None:
                    _accept(journal, held[key], current.pop(key).outcome, deadline)
                    answers[key] = ReportAnswer(key[0], "applied")
            ended = [EndedAttempt(held[key], _believed(r.outcome)) for key, r in current.items()]
            if ended or journal.accepted:
                decisions = await settle(tx, core, journal, executions, ended)
            for key, decision in zip(current, decisions, strict=True):
                answers[key] = ReportAnswer(key[0], "applied", decision.verdict)
    if now is not None:
        _announce(core, journal, decisions)
    return answers


def _async_deadline(plan: Plan, item: ItemRow) -> float | None:
    """How long a callee that has accepted an attempt of this item may take. None: the step is not async."""
    spec = plan.action(item.step, compensates=item.compensates).step.spec
    return spec["async"]["deadline"] if "async" in spec else None


def _accept(journal: Journal, item: ItemRow, outcome: Outcome, deadline: float) -> None:
    """The callee has it now: the lease ends, and the server's own timer holds the deadline."""
    check("item", item.state, "accepted")
    until = journal.now + timedelta(seconds=deadline)
    data = {"deadline_at": timestamp(until), "result": outcome.result}
    log_item(journal, "action_accepted", item, data, attempt=item.attempt, token=str(item.lease_token))
    journal.accepted.append(Accepted(item.id, item.attempt, "callback", until))
    if item.worker is not None:
        journal.runs.append(Run(item.worker, item.id, item.started_at, "sound"))


def _believed(outcome: Outcome) -> Outcome:
    """Returns a failure in place of an acceptance: only the callee of an async step can accept."""
    if outcome.status == "accepted":
        message = "the worker says that a callee has accepted it, but the step is not async"
        return Outcome(
            "failed", facts=Facts(failure_class="invalid", reason="invalid_result", message=message)
        )
    return outcome


def _announce(core: Core, journal: Journal, decisions: Sequence[Decision]) -> None:
    delays = [d.delay.delay for d in decisions if d.verdict == "retry" and d.delay is not None]
    waits = [(a.until - journal.now).total_seconds() for a in journal.accepted if a.until is not None]
    announce(core.hub, journal, [*delays, *waits])


async def release(core: Core, releases: Sequence[Release]) -> None:
    """Leases handed back, uncounted. One that no live worker has a handler for fails as `not_found`."""
    for back in releases:
        core.leased.take(back.token)
    async with core.transaction() as tx:
        executions, now = await queue.lock_executions(tx, [r.execution_id for r in releases])
        if now is None:
            return
        items = await queue.load_leased_items(tx, [r.item_id for r in releases], [r.token for r in releases])
        journal = Journal(now)
        keys = {fan_key(item) for item in items if item.item_no is not None}
        fans = await load_fans(tx, sorted(keys)) if keys else {}
        by_item = {r.item_id: r for r in releases}
        unknown: list[EndedAttempt] = []
        for item in items:
            back = by_item[item.id]
            refused = (
                tuple(sorted({*(item.refused_by or ()), str(item.worker)}))
                if back.reason == "no_handler"
                else ()
            )
            if refused and not await _others(tx, core, item, refused):
                unknown.append(EndedAttempt(item, _no_handler(item, back.detail)))
            elif _is_open(executions[item.execution_id], fans.get(fan_key(item)), item):
                _let_go(journal, item)
                _hand_back(journal, item, back, refused or tuple(item.refused_by or ()))
            else:
                _let_go(journal, item)
                journal.ended_items.append(item.id)
                journal.log(item.execution_id, event("item_cancelled", item.step, item=item.item_no))
            if executions[item.execution_id].failing:
                journal.failing[item.execution_id] = executions[item.execution_id]
        decisions = await settle(tx, core, journal, executions, unknown)
    core.hub.announce(ready=True, special=True)
    _announce(core, journal, decisions)


def _let_go(journal: Journal, item: ItemRow) -> None:
    """Its worker has it no more, and that says nothing of the worker."""
    journal.freed_gates += item.held_gates
    if item.worker is not None:
        journal.runs.append(Run(item.worker, item.id, item.started_at, "released"))


def _is_open(row: ExecutionRow, fan: FanRow | None, item: ItemRow) -> bool:
    """An execution that is failing goes on with nothing but its compensations; a fan-out that has failed with nothing."""
    if item.compensates:
        return row.open
    return row.open and not row.failing and (fan is None or not fan.closed)


def _hand_back(journal: Journal, item: ItemRow, back: Release, refused: tuple[str, ...]) -> None:
    data: dict[str, Any] = {"worker": item.worker, "reason": back.reason, "detail": back.detail}
    if item.compensates:
        data["compensation"] = True
    journal.log(
        item.execution_id,
        event("lease_released", item.step, item=item.item_no, attempt=item.attempt, data=data),
    )
    journal.items_again.append(item.again("queued", journal.now, refused_by=refused))


async def _others(tx: Connection, core: Core, item: ItemRow, refused: tuple[str, ...]) -> bool:
    able = await workers.find_able_workers(tx, item.id, core.settings.lease)
    return bool(set(able) - set(refused))


def _no_handler(item: ItemRow, detail: str | None) -> Outcome:
    message = detail or f"no live worker has a handler for step {item.step}"
    return Outcome(
        "failed", facts=Facts(failure_class="not_found", reason="unknown_handler", message=message)
    )


async def give_up_unwanted(core: Core) -> int:
    """Items that every live worker has refused, and whose other workers are gone: nobody is left to run them."""
    async with core.transaction() as tx:
        found = await queue.find_unwanted_items(tx, core.settings.lease)
        executions, now = await queue.lock_executions(tx, [item.execution_id for item in found])
        if now is None:
            return 0
        journal = Journal(now)
        items = await queue.lock_unwanted_items(tx, [item.id for item in found])
        for item in items:
            item.attempt += 1
        ended = [EndedAttempt(item, _no_handler(item, None), "unwanted") for item in items]
        decisions = await settle(tx, core, journal, executions, ended)
    _announce(core, journal, decisions)
    return len(items)


async def release_grants(core: Core, worker: str, grants: Sequence[str]) -> None:
    """Leases whose answer never reached their worker."""
    async with core.transaction() as tx:
        found = await queue.find_granted_items(tx, grants, worker)
    if found:
        await release(
            core,
            [Release(execution_id, item_id, 0, token, "draining", "the grant never reached its worker")
             for item_id, execution_id, token in found],
        )  # fmt: skip
