"""The short way of a failure that is retried: nothing changes but the item, and what was leased through this server is known. The
decision is the same as on the long way (`settle`); whatever it comes to that is not a plain retry goes that way."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import cast

from tenax.engine.core import Core
from tenax.engine.finish import Ended, Key, decide_on
from tenax.engine.patterns import mark
from tenax.engine.records import EndedAttempt, decision_record, log_outcome, log_wait
from tenax.engine.retry_pattern import RetryPattern
from tenax.engine.settle import ERROR_SHOWN
from tenax.engine.wake import announce
from tenax.model.blame import speaks_of_worker
from tenax.model.wire import ReportAnswer
from tenax.policy.likeness import is_steady, kind_of, marked_retry, past_of
from tenax.policy.plan import Plan
from tenax.store import finish
from tenax.store.finish import Retried
from tenax.store.journal import Journal
from tenax.store.json_text import decode, encode, plain
from tenax.store.rows import ItemRow, Run, RunOutcome


async def retry_at_once(core: Core, ended: Sequence[Ended]) -> dict[Key, ReportAnswer]:
    """Plans the retries that can be planned the short way. What is not in the answer was left as it is."""
    failed = [
        (plan, one)
        for one in ended
        if (plan := core.plans.known(one.item.plan_id)) is not None and _may_be_short(plan, one)
    ]
    if not failed:
        return {}
    async with core.statements() as tx:
        now = await finish.now(tx)
        journal = Journal(now)
        planned = [found for plan, one in failed if (found := _retried(core, plan, one, journal)) is not None]
        over = await finish.retry_items(tx, [retried for retried, _ in planned], now) if planned else set()
    done = [(retried, run) for retried, run in planned if retried.item_id in over]
    journal.runs = [run for _, run in done]
    journal.events = {retried.execution_id: [] for retried, _ in done}
    announce(core.hub, journal, [(retried.available_at - now).total_seconds() for retried, _ in done])
    return {
        (retried.item_id, retried.token): ReportAnswer(retried.item_id, "applied", "retry")
        for retried, _ in done
    }


def _may_be_short(plan: Plan, ended: Ended) -> bool:
    """One item that failed, is all of its step, and is under no limit; its class is for the server to tell."""
    item, outcome = ended.item, ended.report.outcome
    step = plan.steps[item.step]
    return (
        outcome.status == "failed"
        and item.id == ended.report.item_id
        and item.item_no is None
        and not item.compensates
        and (outcome.facts is None or outcome.facts.failure_class is None)
        and step.step.concurrency is None
        and not step.policy.policy.vary
    )


def _retried(core: Core, plan: Plan, ended: Ended, journal: Journal) -> tuple[Retried, Run] | None:
    """The item as it goes back to the queue, with the events of that; None where it is no plain retry. What it logs it
    takes out of the journal again, so one journal does for a batch."""
    item, behind = ended.item, decode(ended.item.ledger)
    past, alike, kind = past_of(behind), kind_of(ended.report.outcome), None
    if past is not None and alike is not None:
        kind = (item.plan_id, item.step, item.attempt, past.counts, alike)
        pattern: RetryPattern | None = core.patterns.find(kind)
        if pattern is not None:
            return pattern.fill(item, journal.now, roll=core.roll(), previous=past.previous_delay)
    decision, failure = decide_on(core, plan, ended, behind, journal.now)
    if decision.verdict != "retry" or decision.delay is None or failure is None or decision.after.lost_by:
        return None
    available_at = journal.now + timedelta(seconds=decision.delay.delay)
    leased = cast("ItemRow", item)  # what is logged of an item, a leased one has as well
    log_outcome(journal, EndedAttempt(leased, ended.report.outcome), decision, failure, None, undone=False)
    record = decision_record(decision)
    log_wait(journal, leased, decision, record, failure.message, available_at)
    events = journal.events.pop(item.execution_id)
    last_error = plain(failure.message[:ERROR_SHOWN])
    step = plan.steps[item.step].step
    is_blamed = speaks_of_worker(failure, runtime=step.type, dependency=step.dependency)
    outcome: RunOutcome = "failed" if is_blamed else "sound"
    if kind is not None and core.patterns.note(kind):
        policy = plan.steps[item.step].policy
        if is_steady(policy) and (common := marked_retry(policy, decision, failure, mark)) is not None:
            core.patterns.keep(kind, RetryPattern.of(events, *common, last_error, outcome))
    retried = Retried(
        item.id,
        item.token,
        item.execution_id,
        available_at,
        encode(record["after"]),
        last_error,
        encode(events),
    )
    return retried, Run(item.worker, item.id, item.started_at, outcome)
