"""Defines laws on rows: each row matches the fold of the events, in every column that the events determine.

Each check gets the fold and the row, and yields the differences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from tenax.model.decision import Ledger
from tenax.policy.laws.facts import (
    CLOCK_SET_BACK,
    ExecutionFacts,
    FanOutFacts,
    ItemFacts,
    ItemResultFacts,
    LeftResult,
    StepFacts,
    fingerprint,
    parse_moment,
)
from tenax.policy.laws.fold import Fold, StepFold
from tenax.policy.laws.law import law
from tenax.policy.laws.work import OPEN, RUNNING, WorkFold
from tenax.policy.retry.vary import varied

_ERROR_KEPT = 500
"""Characters of an error that a work item keeps."""
_NOTHING = fingerprint(None)


def _differ(name: str, row: Any, expected: Any) -> Iterator[str]:
    if row != expected:
        yield f"{name} is {_shown(row)}, the events say {_shown(expected)}"


def _shown(value: Any) -> str:
    text = value.isoformat() if hasattr(value, "isoformat") else repr(value)
    return text if len(text) <= 200 else f"{text[:197]}..."


def _failures_differ(row: Mapping[str, Any] | None, expected: Mapping[str, Any] | None) -> Iterator[str]:
    for name in ("class", "reason", "message", "cause"):
        yield from _differ(f"failure.{name}", (row or {}).get(name), (expected or {}).get(name))


def _result_differs(row: Any, expected: bytes | None) -> Iterator[str]:
    if fingerprint(row) != (expected or _NOTHING):
        yield "result is not that of the events"


@law("execution-row", "The row of an execution is the fold of its events.")
def execution_row(fold: Fold, row: ExecutionFacts) -> Iterator[str]:
    if fold.first is None:
        return
    yield from _differ("state", row.state, fold.state)
    yield from _differ("compensation", row.compensation, fold.compensation)
    yield from _differ("finished_at", row.finished_at, fold.finished_at)
    yield from _differ("open_steps", row.open_steps, _open_steps(fold))
    yield from _failures_differ(row.failure, fold.failure)
    if fold.state == "completed":
        yield from _results_differ(fold, row)
    elif row.result is not None:
        yield "it has a result, but the events have no completion"
    if fold.first.type == "execution_started":
        yield from _beginnings_differ(row, fold.first.data, fold)


def _open_steps(fold: Fold) -> int:
    return len(fold.steps) - sum(step.in_graph for step in fold.steps.values())


def _beginnings_differ(row: ExecutionFacts, data: Mapping[str, Any], fold: Fold) -> Iterator[str]:
    parent = fold.parent or {}
    yield from _differ("created_at", row.created_at, fold.first.at if fold.first is not None else None)
    yield from _differ("input", row.input or {}, data.get("input") or {})
    yield from _differ("retry_of", row.retry_of, data.get("retry_of"))
    yield from _differ("original_execution", row.original_execution, data.get("original_execution"))
    yield from _differ("parent_id", row.parent_id, parent.get("execution_id"))
    yield from _differ("parent_step", row.parent_step, parent.get("step"))
    yield from _differ("parent_item_no", row.parent_item_no, parent.get("item"))
    yield from _differ("parent_attempt", row.parent_attempt, parent.get("attempt"))


def _results_differ(fold: Fold, row: ExecutionFacts) -> Iterator[str]:
    """Compares the outputs, or else the results of the goals. A fan-out's result is compared with its items, together
    with its step."""
    if fold.plan.outputs is not None:
        yield from _result_differs(row.result, fold.result)
        return
    if row.result_gathered is not None:
        if not row.result_gathered:
            yield "result is not that of its steps"
        return
    found = row.result if isinstance(row.result, Mapping) else {}
    for name in fold.plan.results:
        if fingerprint(found.get(name)) != (fold.steps[name].result or _NOTHING):
            yield f"result.{name} is not that of the events"


@law("step-row", "The row of a step is the fold of its events; a workflow of one plain step has no such row.")
def step_row(fold: Fold, name: str, row: StepFacts | None) -> Iterator[str]:
    step = fold.steps[name]
    if fold.plan.single:
        if row is not None:
            yield "there is a row for the step of a workflow that has no other"
    elif not step.has_row:
        yield from _unended_differ(fold, name, step, row)
    elif row is None:
        yield f"the row is missing; the events say that the step is {step.status}"
    else:
        yield from _ended_differ(fold, name, step, row)


def _unended_differ(fold: Fold, name: str, step: StepFold, row: StepFacts | None) -> Iterator[str]:
    needs = fold.plan.steps[name].step.needs
    unmet = sum(not (fold.steps[need].in_graph and fold.is_met(need)) for need in needs)
    if row is not None and row.state != "pending":
        yield f"state is {row.state!r}, the events say that the step is {step.status}"
    elif row is None:
        if 0 < unmet < len(needs) and step.status == "pending":
            yield f"the row is missing; the step waits for {unmet} of {len(needs)} steps"
    elif unmet and row.waiting_for != unmet:
        yield f"waiting_for is {row.waiting_for}, the events say {unmet}"
    elif not 0 < row.waiting_for < len(needs):
        yield f"waiting_for is {row.waiting_for} of {len(needs)} needs"


def _ended_differ(fold: Fold, name: str, step: StepFold, row: StepFacts) -> Iterator[str]:
    yield from _differ("state", row.state, step.status)
    yield from _differ("waiting_for", row.waiting_for, 0)
    yield from _differ("attempts", row.attempts, step.attempts)
    if step.status == "unreachable":
        yield from _failures_differ(row.failure, {"cause": step.cause})
    elif (
        not step.carried
    ):  # the events do not have the failure of a step that was kept from another execution
        yield from _failures_differ(row.failure, step.failure)
    if row.gathered is not None:
        if not row.gathered:
            yield "result and failures are not those of its items"
    elif step.has_whole_result or not fold.is_fan_out(name):
        yield from _result_differs(row.result, step.result)


@law(
    "fan-out-row",
    "The row of a fan-out counts its items as their events do, and every item has ended, has a row, or was cancelled.",
)
def fan_out_row(fold: Fold, name: str, row: FanOutFacts | None) -> Iterator[str]:
    expected = fold.fan_outs.get(name)
    if expected is None or expected.unborn:
        if row is not None:
            yield "there is a row, but no event that the step was queued"
        return
    if row is None:
        yield "the row is missing"
        return
    step = fold.plan.steps[name].step
    at_once = None if expected.retired or expected.parallelism >= expected.total else expected.parallelism
    yield from _differ("total", row.total, expected.total)
    yield from _differ("ended", row.ended, expected.ended)
    yield from _differ("failed", row.failed, expected.failed)
    yield from _differ("attempts", row.attempts, expected.attempts)
    yield from _differ("closed", row.closed, expected.closed)
    yield from _differ("parallelism", row.parallelism, at_once)
    yield from _differ(
        "tolerated", row.tolerated, step.tolerate.allowed(expected.total) if step.tolerate else 0
    )
    if row.parallelism is not None and not row.closed:
        yield from _differ("placed", row.placed, row.live_placed)
    if expected.ended + expected.cancelled + row.live != expected.total:
        yield f"of {expected.total} items {expected.ended} have ended, {expected.cancelled} were cancelled and {row.live} have a row"


@law("item-result-row", "The row of an item's end says what its events say.")
def item_result_row(work: WorkFold, row: ItemResultFacts | None) -> Iterator[str]:
    state = {"completed": "succeeded", "failed": "failed"}.get(work.status)
    if row is None or state is None:
        if row is not None:
            yield f"there is a row, but the events say that the item is {work.status}"
        elif state is not None:
            yield f"the row is missing; the events say that the item {state}"
        return
    yield from _differ("state", row.state, state)
    yield from _differ("attempts", row.attempts, work.attempt)
    yield from _failures_differ(row.failure, work.failure)
    if state == "succeeded":
        yield from _result_differs(row.result, work.result)


@law(
    "item-row",
    "Work that is not over has one row, work that is over has none, and the row is the fold of its events.",
)
def item_row(work: WorkFold, row: ItemFacts | None, fold: Fold) -> Iterator[str]:
    if row is None:
        if work.status in OPEN:
            yield f"the row is missing; the events say that the work item is {work.status}"
        return
    expected = _states(work, row, fold)
    if row.state not in expected:
        words = " or ".join(expected) or f"over ({work.status})"
        yield f"state is {row.state!r}, the events say {words}"
        return
    yield from _differ("attempt", row.attempt, work.attempt)
    yield from _differ("max_attempts", row.max_attempts, work.action.policy.policy.max_attempts)
    if row.stopped_by != "slot" and not fold.over:  # what still runs after the end is not leased again
        yield from _differ("stopped by a pause", row.stopped_by == "pause", fold.state == "paused")
    yield from _ledgers_differ(work, row)
    yield from _times_differ(work, row, fold)
    yield from _leases_differ(work, row, fold)
    yield from _inputs_differ(work, row)


def _states(work: WorkFold, row: ItemFacts, fold: Fold) -> tuple[str, ...]:
    """Returns the states that the row may have."""
    match work.status:
        case "new":
            return _unstarted(work, fold)
        case "queued":
            return ("queued",)
        case "running":
            return ("leased",)
        case "retrying" if _is_rebuilt(work, fold) and row.stopped_by != "slot":
            return ("retrying", "queued")  # rebuilt when it was due
        case "accepted" | "retrying" | "held":
            return (work.status,)
    return ()


def _unstarted(work: WorkFold, fold: Fold) -> tuple[str, ...]:
    """Returns the states of a row whose item has no event yet. Items of fan-outs are queued by one event of
    their step, and compensations are inserted before the first one is queued."""
    if work.undoes:
        return ("waiting",) if fold.compensation == "running" else ()
    found = fold.fan_outs.get(work.step)
    return ("queued", "waiting") if work.item is not None and found is not None and not fold.closed else ()


def _is_rebuilt(work: WorkFold, fold: Fold) -> bool:
    return work.rebuilt or (fold.repaired and work.item is not None)


def _ledgers_differ(work: WorkFold, row: ItemFacts) -> Iterator[str]:
    if fingerprint(_counts(row.ledger)) != fingerprint(_counts(work.ledger)):
        yield f"ledger is {_shown(row.ledger)}, the events say {_shown(work.ledger)}"
    expected = work.last_error
    if row.last_error is not None or not work.rebuilt:
        yield from _differ("last_error", row.last_error, expected and expected[:_ERROR_KEPT])
    policy = work.action.policy.policy
    if policy.vary:
        ledger = Ledger.from_dict(work.ledger) if work.ledger else Ledger()
        expected_vary, found = varied(policy, ledger) or {}, row.vary or {}
        if (expected_vary.get("override") or found.get("override")) and expected_vary != found:
            yield f"vary is {_shown(row.vary)}, the events say {_shown(expected_vary)}"


def _counts(ledger: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Returns a ledger without the mark that its item belongs to a tree with a budget, which no event of the item has."""
    if ledger is None or "tree" not in ledger:
        return ledger
    rest = {name: value for name, value in ledger.items() if name != "tree"}
    return None if rest == {"counted": 0, "exempted": 0} else rest


def _times_differ(work: WorkFold, row: ItemFacts, fold: Fold) -> Iterator[str]:
    """Compares times. An item of a fan-out that was never tried, and an item that was rebuilt, have
    times of their own."""
    expected = work.available_at
    if expected is not None and work.status == "queued" and _is_pulled_in(row.available_at, expected):
        expected = None
    if expected is not None and (not _is_rebuilt(work, fold) or work.status == "retrying"):
        yield from _differ("available_at", row.available_at, expected)
    if work.enqueued_at is not None and not _is_rebuilt(work, fold):
        yield from _differ("created_at", row.created_at, work.enqueued_at)


def _is_pulled_in(stored: datetime | None, expected: datetime) -> bool:
    """Returns whether a time was in the future when the clock of PostgreSQL was set back, and was corrected."""
    return stored is not None and (expected - stored).total_seconds() > CLOCK_SET_BACK


def _leases_differ(work: WorkFold, row: ItemFacts, fold: Fold) -> Iterator[str]:
    start = work.start if work.status in RUNNING else None
    waiting = work.waiting if work.status == "accepted" else None
    if start is not None and work.status == "running":
        yield from _differ("worker", row.worker, start.data.get("worker"))
    if start is not None and not _is_rebuilt(work, fold) and not _is_pulled_in(row.started_at, start.at):
        yield from _differ("started_at", row.started_at, start.at)
    if row.lease_token is not None and row.lease_token in work.tokens:
        yield "its lease has the token of a report that was made before"
    yield from _differ("awaiting", row.awaiting, _awaited(waiting))
    if row.awaiting == "child" and start is not None:
        yield from _differ("child", row.child, start.data.get("child"))
    if waiting is not None:
        until = parse_moment(waiting.get("until") or waiting.get("deadline_at"))
        # After a gap in service all waits are extended.
        if until is not None and (row.expires_at is None or row.expires_at < until):
            yield from _differ("expires_at", row.expires_at, until)


def _awaited(waiting: Mapping[str, Any] | None) -> str | None:
    if waiting is None:
        return None
    kind = str(waiting.get("for"))
    return f"signal:{waiting.get('signal')}" if kind == "signal" else kind


def _inputs_differ(work: WorkFold, row: ItemFacts) -> Iterator[str]:
    if not work.undoes and fingerprint(row.previous) != (work.previous or _NOTHING):
        yield "previous is not the result of the last poll"


@law(
    "unfinished-item-has-a-wake-up",
    "Every unfinished work item has a lease, a due time, a hold with an end, a deadline, or something that it waits for.",
)
def unfinished_item_has_a_wake_up(row: ItemFacts) -> Iterator[str]:
    match row.state:
        case "leased" | "held" if row.expires_at is None:
            yield f"it is {row.state} without an end"
        case "accepted" if row.expires_at is None and row.awaiting in (None, "sleep", "callback"):
            yield f"it waits for {row.awaiting or 'nothing'} without an end"
        case "accepted" if not row.child_will_end:
            yield f"it waits for child {row.child}, which has ended, and no message says so"


@law("unfinished-execution-goes-on", "An open execution has work that is not over.")
def unfinished_execution_goes_on(row: ExecutionFacts) -> Iterator[str]:
    if row.state in ("running", "paused") and not row.has_work:
        yield "it is open, and has no work item"


@law(
    "rows-have-an-execution",
    "Every row, and every event of an execution, belongs to an execution that there is.",
)
def rows_have_an_execution(table: str) -> Iterator[str]:
    yield f"the table `{table}` has rows of an execution that does not exist"


@law(
    "recorded-result-taken",
    "A result that an attempt has committed in a transaction of its own becomes one success: it is kept only until the"
    " lease of the attempt ends.",
)
def recorded_result_taken(left: LeftResult) -> Iterator[str]:
    if left.ended:
        yield "the attempt has ended, and its recorded result is still kept: it could end the attempt again"
    else:
        yield "the lease of the attempt has ended, and its recorded result was not taken"


@law("plan-is-readable", "The plan of every execution can be read.")
def plan_is_readable(plan_id: int) -> Iterator[str]:
    yield f"plan {plan_id} cannot be read by this version: its decisions were not made again"
