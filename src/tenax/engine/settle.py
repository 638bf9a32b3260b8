"""The one path of every ended attempt: reported, lost, timed out or expired in the queue.

Outcome, decision and whatever that enqueues go into one journal, written in one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, assert_never

from tenax.engine.core import Core
from tenax.engine.progress import Turn, advance_executions
from tenax.model.decision import Controls, Decision
from tenax.model.events import EventType, event, timestamp
from tenax.model.outcome import Failure, Outcome
from tenax.policy.decide import SUCCESS_AT_ONCE, decide, read_failure
from tenax.policy.plan import Plan
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.json_text import decode, encode
from tenax.store.rows import ExecutionRow, ItemRow, StepRow, ledger_from

How = Literal["reported", "timed_out", "unwanted", "lease_expired", "queue_expired"]
ERROR_SHOWN = 500
"""How much of an error's message the queue keeps; the log has all of it."""


@dataclass(frozen=True, slots=True)
class EndedAttempt:
    item: ItemRow
    outcome: Outcome
    how: How = "reported"


async def settle(
    tx: Connection,
    core: Core,
    journal: Journal,
    executions: dict[int, ExecutionRow],
    ended: Sequence[EndedAttempt],
) -> list[Decision]:
    """Decides on each ended attempt and writes all that follows. The executions are locked, and so are the items."""
    plans = await core.plans.load(tx, {attempt.item.plan_id for attempt in ended})
    turns: dict[int, Turn] = {}
    decisions = [
        _settle_one(
            core, journal, executions[attempt.item.execution_id], plans[attempt.item.plan_id], turns, attempt
        )
        for attempt in ended
    ]
    await advance_executions(tx, journal, [turn for turn in turns.values() if turn.ended])
    await journal.write(tx)
    return decisions


def _settle_one(
    core: Core,
    journal: Journal,
    row: ExecutionRow,
    plan: Plan,
    turns: dict[int, Turn],
    attempt: EndedAttempt,
) -> Decision:
    item, outcome = attempt.item, attempt.outcome
    decision, failure = _decide(core, journal, row, plan, attempt)
    record = _record(decision)
    _log_outcome(journal, attempt, failure, record if decision.verdict in ("complete", "stop") else None)
    match decision.verdict:
        case "complete":
            _end_step(journal, turns, Turn(row, plan), item, "completed", result=outcome.result)
        case "retry" | "hold":
            _wait(journal, item, decision, record, failure)
        case "fail":
            _log_failure(journal, item, decision, record, failure)
            _end_step(journal, turns, Turn(row, plan), item, "failed", failure=failure)
        case "stop":
            _stop(journal, item, outcome, failure, single=plan.single)
        case _:
            assert_never(decision.verdict)
    return decision


def _decide(
    core: Core, journal: Journal, row: ExecutionRow, plan: Plan, attempt: EndedAttempt
) -> tuple[Decision, Failure | None]:
    item, outcome = attempt.item, attempt.outcome
    if outcome.status == "succeeded" and item.ledger is None and row.open:
        return SUCCESS_AT_ONCE, None
    policy = plan.steps[item.step].policy
    elapsed = max(0.0, (journal.now - item.created_at).total_seconds())
    ledger = ledger_from(decode(item.ledger), elapsed)
    failure = read_failure(policy, ledger, outcome)
    decision = decide(
        policy,
        ledger,
        outcome,
        attempt=item.attempt,
        execution_id=item.execution_id,
        node_id=item.step,
        elapsed=elapsed,
        controls=Controls(execution_open=row.open, retries_enabled=core.settings.retries_enabled),
        roll=core.roll(),
        failure=failure,
    )
    return decision, failure


def _record(decision: Decision) -> dict[str, Any]:
    """The whole decision; of a plain first-time success only what cannot be known from its event."""
    if decision is SUCCESS_AT_ONCE:
        return {"verdict": "complete", "rule": decision.rule, "version": decision.version}
    return decision.as_dict()


def _log_outcome(
    journal: Journal, attempt: EndedAttempt, failure: Failure | None, record: dict[str, Any] | None
) -> None:
    item, outcome = attempt.item, attempt.outcome
    data: dict[str, Any] = {}
    if outcome.status == "succeeded":
        data["result"] = outcome.result
    elif failure is not None:
        data = {"error": failure.message, "failure": failure.as_dict()}
        if outcome.result is not None:
            data["result"] = outcome.result
    if outcome.usage is not None:
        data["usage"] = {"cost_usd": outcome.usage.cost_usd, "tokens": outcome.usage.tokens}
    if outcome.after is not None:
        data["after"] = outcome.after
    if item.started_at is not None:
        data["seconds"] = round((journal.now - item.started_at).total_seconds(), 6)
    if item.worker is not None and outcome.status != "succeeded":
        data["worker"] = item.worker
    if record is not None:
        data["decision"] = record
    token = str(item.lease_token) if attempt.how == "reported" else None
    journal.log(
        item.execution_id,
        event(
            _event_type(attempt), item.step, item=item.item_no, attempt=item.attempt, token=token, data=data
        ),
    )


def _event_type(attempt: EndedAttempt) -> EventType:
    if attempt.how in ("lease_expired", "queue_expired"):
        return attempt.how
    match attempt.outcome.status:
        case "succeeded":
            return "action_completed"
        case "failed":
            return "action_error"
        case "not_completed":
            return "action_not_completed"
        case "snoozed":
            return "action_snoozed"
        case _:
            assert_never(attempt.outcome.status)


def _end_step(
    journal: Journal,
    turns: dict[int, Turn],
    turn: Turn,
    item: ItemRow,
    state: Literal["completed", "failed"],
    *,
    result: Any = None,
    failure: Failure | None = None,
) -> None:
    journal.ended_items.append(item.id)
    if state == "completed":
        journal.log(item.execution_id, event("step_completed", item.step, data={"attempts": item.attempt}))
    ended = StepRow(
        item.execution_id,
        item.step,
        state,
        attempts=item.attempt,
        result=result,
        failure={**_brief(failure), "attempts": item.attempt} if failure is not None else None,
    )
    turns.setdefault(item.execution_id, turn).ended.append(ended)


def _brief(failure: Failure) -> dict[str, Any]:
    return {"class": failure.failure_class, "reason": failure.reason, "message": failure.message}


def _wait(
    journal: Journal, item: ItemRow, decision: Decision, record: dict[str, Any], failure: Failure | None
) -> None:
    delay = decision.delay.delay if decision.delay is not None else 0.0
    available_at = journal.now + timedelta(seconds=delay)
    error = failure.message if failure is not None else None
    held = decision.verdict == "hold"
    journal.log(
        item.execution_id,
        event(
            "retry_held" if held else "step_retry",
            item.step,
            item=item.item_no,
            attempt=item.attempt,
            data={
                "attempt": item.attempt,
                "max_attempts": decision.max_attempts,
                "delay_seconds": delay,
                "available_at": timestamp(available_at),
                "last_error": error,
                "decision": record,
            },
        ),
    )
    journal.items_again.append(
        item.again(
            "held" if held else "retrying",
            available_at,
            ledger=encode(decision.after.as_dict()),
            last_error=error[:ERROR_SHOWN] if error is not None else None,
        )
    )


def _log_failure(
    journal: Journal, item: ItemRow, decision: Decision, record: dict[str, Any], failure: Failure | None
) -> None:
    final = failure.as_dict() if failure is not None else None
    saw = decision.checks[-1].saw  # of the limit that was reached: the policy's, or that of one of its rules
    if decision.exhausted and saw["max_attempts"] != 1:
        data = {
            "attempts": saw.get("ended_in_rule", decision.after.counted),
            "max_attempts": saw["max_attempts"],
            "final_error": failure.message if failure is not None else None,
        }
        journal.log(
            item.execution_id, event("step_retry_exhausted", item.step, attempt=item.attempt, data=data)
        )
    terminal = {"attempts": item.attempt, "reason": decision.reason, "failure": final, "decision": record}
    journal.log(
        item.execution_id, event("step_failed_terminal", item.step, attempt=item.attempt, data=terminal)
    )


def _stop(
    journal: Journal, item: ItemRow, outcome: Outcome, failure: Failure | None, *, single: bool
) -> None:
    """The execution is over. What still ran is recorded, and nothing follows from it."""
    journal.ended_items.append(item.id)
    succeeded = outcome.status == "succeeded"
    if succeeded:
        journal.log(item.execution_id, event("step_completed", item.step, data={"attempts": item.attempt}))
    else:
        data = {
            "attempts": item.attempt,
            "reason": "the execution is over",
            "failure": failure and failure.as_dict(),
        }
        journal.log(
            item.execution_id, event("step_failed_terminal", item.step, attempt=item.attempt, data=data)
        )
    if not single:
        journal.step(
            StepRow(
                item.execution_id,
                item.step,
                "completed" if succeeded else "failed",
                attempts=item.attempt,
                result=outcome.result if succeeded else None,
                failure=_brief(failure) if failure is not None else None,
            )
        )
