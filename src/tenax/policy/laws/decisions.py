"""Defines laws on decisions: a decision can be repeated from its stored inputs, continues the ledger of the one before, and is obeyed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from tenax.model.attempt.outcome import Failure, Outcome, OutcomeStatus, Usage
from tenax.model.decision import DECIDER_VERSION
from tenax.policy.laws.facts import ENDS, LoggedEvent, parse_moment
from tenax.policy.laws.law import Breach, Law, law
from tenax.policy.laws.work import WorkFold
from tenax.policy.retry.decide import SUCCESS_AT_ONCE, replay

_STATUS: Mapping[str, OutcomeStatus] = {
    "action_completed": "succeeded",
    "action_polled": "succeeded",
    "action_not_completed": "not_completed",
    "action_snoozed": "snoozed",
}
"""The status of an attempt by the event of its end. All others failed."""
_VERDICTS: Mapping[str, tuple[str, ...]] = {
    "step_retry": ("retry",),
    "retry_held": ("hold",),
    "item_held": ("hold",),
    "step_failed_terminal": ("fail",),
    "item_failed": ("fail",),
    "action_completed": ("complete", "stop"),
}
_NOT_LEFT = frozenset({"elapsed", "budget", "budget_tokens", "tree"})
"""Fields of a ledger that no decision leaves: they come from the clock, the plan, and the tree of the execution."""
_PRECISION = 0.001
"""Seconds by which two measurements of an item's age may differ."""


@law(
    "decision-replays",
    "Every decision, made again from its stored inputs by the same version of the decider, is identical.",
)
def decision_replays(work: WorkFold, event: LoggedEvent) -> Breach | None:
    record = event.decision
    if record is None or record.get("version") != DECIDER_VERSION:
        return None
    if "checks" not in record:
        return _plain_success(work, event, record)
    ended = event if event.kind in ENDS or work.outcome is None else work.outcome
    if wrong := _wrong_inputs(work, ended, record):
        return Breach(wrong, _ids(ended, event))
    try:
        again = replay(
            work.action.policy, *_reported(work, ended, record), record, work.action.until
        ).as_dict()
    except Exception as error:  # noqa: BLE001 -- whatever is wrong with the record, it is this one's
        return Breach(f"it cannot be made again: {type(error).__name__}: {error}", _ids(ended, event))
    if again == record:
        return None
    names = sorted(name for name in {*again, *record} if again.get(name) != record.get(name))
    words = f"made again it is `{again['verdict']}` by the rule `{again['rule']}`, the record says "
    words += f"`{record.get('verdict')}` by `{record.get('rule')}`; they differ in {', '.join(names)}"
    return Breach(words, _ids(ended, event))


def _plain_success(work: WorkFold, event: LoggedEvent, record: Mapping[str, Any]) -> Breach | None:
    """Checks the short record of a first success: the item has no history, and nothing judges its success."""
    plain = event.kind == "action_completed" and work.ledger is None and work.action.succeeds_plainly
    same = (record.get("verdict"), record.get("rule")) == (SUCCESS_AT_ONCE.verdict, SUCCESS_AT_ONCE.rule)
    if plain and same:
        return None
    return Breach("the short record of a decision is only for a plain first success", (event.id,))


def _wrong_inputs(work: WorkFold, ended: LoggedEvent, record: Mapping[str, Any]) -> str | None:
    """Returns a message if an input of the record is not that of the attempt."""
    number = work.attempt if ended.attempt is None else ended.attempt
    for name, value in (("execution_id", work.execution_id), ("node_id", work.step), ("attempt", number)):
        if record.get(name) != value:
            return f"its {name} is {record.get(name)!r}, the attempt's is {value!r}"
    return None


def _reported(
    work: WorkFold, ended: LoggedEvent, record: Mapping[str, Any]
) -> tuple[Outcome, Failure | None]:
    """Returns the outcome and the failure that the decision was based on. The release of a held item is a decision on
    the failure that it was held for."""
    data = ended.data
    judged = any(check["rule"] == "until" for check in record["checks"])
    outcome = Outcome(
        "succeeded" if judged else _STATUS.get(ended.kind, "failed"),
        data.get("result"),
        after=data.get("after"),
        usage=Usage(**data["usage"]) if "usage" in data else None,
    )
    released = "released_due_in" in record.get("controls", {})
    failure = work.letter.failure if released else data.get("failure")
    return outcome, Failure.from_dict(dict(failure)) if failure is not None else None


@law(
    "decisions-go-on",
    "A decision starts from the ledger that the one before left, counts the attempts as they ended, and knows how old its item is.",
)
def decisions_go_on(work: WorkFold, event: LoggedEvent) -> Breach | None:
    record = event.decision
    if record is None or record.get("version") != DECIDER_VERSION or "before" not in record:
        return None
    before = {name: value for name, value in record["before"].items() if name not in _NOT_LEFT}
    left = {name: value for name, value in (work.ledger or {}).items() if name not in _NOT_LEFT}
    if not work.old_version and before != (left or {"counted": 0, "exempted": 0}):
        return Breach(f"its ledger begins with {before}, the one before left {left}", (work.last, event.id))
    age = _age(work, event)
    elapsed = record.get("elapsed", 0.0)
    if age is None or abs(elapsed - age) <= _PRECISION:
        return None
    if elapsed < age and record.get("verdict") == "complete":
        return None  # the age of a success is read first, and the time of its event as it is written
    return Breach(f"it took its item for {elapsed:g} s old, and it was {age:g} s old", (event.id,))


def _age(work: WorkFold, event: LoggedEvent) -> float | None:
    """Returns the seconds since the item was queued. Returns None if the log does not tell."""
    if work.enqueued_at is None or work.rebuilt:
        return None
    return max(0.0, (event.at - work.enqueued_at).total_seconds())


@law(
    "verdict-obeyed",
    "The decision on an attempt is carried out: a retry, a hold, a failure or the end follows.",
)
def verdict_obeyed(_work: WorkFold, event: LoggedEvent) -> Breach | None:
    record = event.decision
    if record is None:
        needs = event.kind in ("step_retry", "retry_held", "action_completed")
        return Breach(f"{event.type} without a decision", (event.id,)) if needs else None
    allowed = _VERDICTS.get(event.kind, ("stop",) if event.kind in ENDS else ())
    if record.get("verdict") in allowed:
        return None
    return Breach(f"{event.type}, though `{record.get('verdict')}` was decided", (event.id,))


@law(
    "retry-due-at-decision-time",
    "A retry is due when the delay of the decision has passed since the decision.",
)
def retry_due_at_decision_time(_work: WorkFold, event: LoggedEvent) -> Breach | None:
    if event.kind not in ("step_retry", "retry_held") or event.decision is None:
        return None
    delay = event.data.get("delay_seconds")
    decided = (event.decision.get("delay") or {}).get("delay", 0.0)
    if delay != decided:
        return Breach(f"the delay is {delay!r} s, decided were {decided!r} s", (event.id,))
    due = event.at + timedelta(seconds=delay)
    if parse_moment(event.data.get("available_at")) == due:
        return None
    words = f"it is due at {event.data.get('available_at')}, decided was {due.isoformat()}"
    return Breach(words, (event.id,))


def miscounted(work: WorkFold, event: LoggedEvent) -> Breach | None:
    """Checks `decisions_go_on` on the work item after the event: the ledger must count the attempts as they ended."""
    record = event.decision
    if (
        record is None
        or record.get("version") != DECIDER_VERSION
        or "after" not in record
        or work.old_version
    ):
        return None
    if "held_for" in record.get("controls", {}):
        return None  # the end of a hold is no attempt
    after = record["after"]
    if (after.get("counted"), after.get("exempted")) == (work.counted, work.exempted):
        return None
    words = f"its ledger has {after.get('counted')} counted and {after.get('exempted')} exempted attempts, "
    words += f"the log has {work.counted} and {work.exempted}"
    return Breach(words, (event.id,))


def _ids(*events: LoggedEvent) -> tuple[int, ...]:
    return tuple(dict.fromkeys(event.id for event in events))


DECISION_LAWS: tuple[Law, ...] = (
    decision_replays,
    decisions_go_on,
    verdict_obeyed,
    retry_due_at_decision_time,
)
