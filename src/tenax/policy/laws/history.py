"""Defines laws on the history of one execution as a whole. Each check gets the state of the execution before an event, and the event."""

from __future__ import annotations

from tenax.model.events import check_event
from tenax.policy.laws.facts import CLOCK_SET_BACK, ENDS, LoggedEvent
from tenax.policy.laws.fold import STEP_ENDS, Fold
from tenax.policy.laws.law import Breach, Law, law

_AFTER_FAILURE = frozenset(
    {
        *ENDS,
        *STEP_ENDS,
        "action_accepted",
        "item_completed",
        "item_failed",
        "item_cancelled",
        "step_retry_exhausted",
    }
)
"""Ends of attempts that were still running when the execution failed."""
_ALWAYS = frozenset({"late_result", "operator_action", "attempt_charged", "budget_exceeded"})
_BEGINNINGS = frozenset({"action_started", "step_enqueued", "step_retry", "retry_held"})
OVERLAP = 1.0  # seconds for which two transactions that write events of one execution may overlap
_STARTS = frozenset({"action_started", "compensation_started"})


@law(
    "events-conform",
    "Every event of an execution is of a known type, and has the fields that [its type](events.md#types) declares, with values of their types. Its data may have fields of a later version.",
)
def events_conform(_fold: Fold, event: LoggedEvent) -> Breach | None:
    fault = check_event(event.body(), newer=True)
    return None if fault is None else Breach(f"{event.type}: {fault}", (event.id,))


@law("begins-once", "The first event of an execution is `execution_started`, and there is no other.")
def begins_once(fold: Fold, event: LoggedEvent) -> Breach | None:
    if (event.type == "execution_started") == (fold.first is None):
        return None
    if fold.first is None:
        return Breach(f"its first event is {event.type}", (event.id,))
    return Breach("it has started twice", (fold.first.id, event.id))


@law(
    "order-and-time",
    "The ids of events rise. None is stored with an earlier time than the one before it, but for the second in which transactions may overlap (the times that are shown never go back). More than a minute is the clock of PostgreSQL, which someone has set back.",
)
def order_and_time(fold: Fold, event: LoggedEvent) -> Breach | None:
    if fold.last is not None and event.id <= fold.last.id:
        return Breach(f"event {event.id} comes after event {fold.last.id}", (fold.last.id, event.id))
    back = (fold.last.at - event.at).total_seconds() if fold.last is not None else 0.0
    if fold.last is not None and OVERLAP < back <= CLOCK_SET_BACK:
        words = f"{event.type} is {back:g} s earlier than the {fold.last.type} before it"
        return Breach(words, (fold.last.id, event.id))
    return None


@law("events-of-the-plan", "Every event of a step is of a step that the execution's plan has.")
def events_of_the_plan(fold: Fold, event: LoggedEvent) -> Breach | None:
    if event.step is None or event.step in fold.steps:
        return None
    return Breach(f"the plan has no step `{event.step}`", (event.id,))


@law(
    "nothing-after-the-end",
    "After its end nothing of an execution begins, unless an operator opens a failed one again. Attempts that still ran when it failed may end. While it compensates, only compensations begin.",
)
def nothing_after_the_end(fold: Fold, event: LoggedEvent) -> Breach | None:
    if not fold.closed or event.type in _ALWAYS:
        return None
    if fold.final is None:
        if event.type in _BEGINNINGS and not event.undoes:
            return Breach(f"{event.type} while the execution compensates", (event.id,))
        return None
    if fold.state == "failed" and event.type in _AFTER_FAILURE:
        return None
    if fold.state == "failed" and fold.compensation is None and event.type == "execution_reopened":
        return None
    return Breach(f"{event.type} after {fold.final.type}", (fold.final.id, event.id))


@law("nothing-starts-while-paused", "No attempt starts while its execution is paused.")
def nothing_starts_while_paused(fold: Fold, event: LoggedEvent) -> Breach | None:
    if fold.state != "paused" or event.type not in _STARTS:
        return None
    return Breach(f"attempt {event.attempt} started while the execution was paused", (event.id,))


@law(
    "needs-met",
    "A step is queued only once every step that it needs has completed, was skipped, or has failed with `on_failure`.",
)
def needs_met(fold: Fold, event: LoggedEvent) -> Breach | None:
    if event.type != "step_enqueued" or event.step not in fold.steps:
        return None
    unmet = [need for need in fold.plan.steps[event.step].step.needs if not fold.is_met(need)]
    return Breach(f"it was queued before {', '.join(unmet)}", (event.id,)) if unmet else None


@law(
    "step-ends-once",
    "A step ends once, and once more each time that an operator starts it again; after a failure only the value of its `on_failure`, or that there is none, may follow.",
)
def step_ends_once(fold: Fold, event: LoggedEvent) -> Breach | None:
    if event.type not in STEP_ENDS or event.step not in fold.steps:
        return None
    before = fold.steps[event.step].status
    if before in ("pending", "started"):
        return None
    is_value = event.type == "step_completed" and event.data.get("on_failure") == "value"
    no_value = event.type == "step_failed_terminal" and "decision" not in event.data
    if before == "failed" and (is_value or no_value) and fold.plan.steps[event.step].value is not None:
        return None
    return Breach(f"{event.type} after the step was {before}", (event.id,))


@law("completed-when-all-ended", "An execution completes only when every step has ended and no goal is lost.")
def completed_when_all_ended(fold: Fold, event: LoggedEvent) -> Breach | None:
    if event.type != "execution_completed":
        return None
    left = [name for name, step in fold.steps.items() if step.status in ("pending", "started")]
    lost = [name for name in sorted(fold.plan.goals) if not fold.is_met(name)]
    if left:
        return Breach(f"it completed while {', '.join(left)} had not ended", (event.id,))
    return Breach(f"it completed, but {', '.join(lost)} did not", (event.id,)) if lost else None


@law(
    "parallelism-kept",
    "No more items of a fan-out run at once than its `parallelism`, but for those whose child an operator runs again.",
)
def parallelism_kept(fold: Fold, event: LoggedEvent) -> Breach | None:
    found = fold.fan_outs.get(event.step or "")
    if found is None or event.type != "action_started" or event.data.get("adopted"):
        return None
    if found.running < found.parallelism:
        return None
    return Breach(
        f"item {event.item} started beside {found.running} others; {found.parallelism} may run", (event.id,)
    )


@law("one-compensation-at-a-time", "The compensations of an execution run one after the other.")
def one_compensation_at_a_time(fold: Fold, event: LoggedEvent) -> Breach | None:
    if event.type != "compensation_enqueued" or not fold.undoing:
        return None
    return Breach(f"the compensation of {event.step} began before another one had ended", (event.id,))


HISTORY_LAWS: tuple[Law, ...] = (
    events_conform,
    begins_once,
    order_and_time,
    events_of_the_plan,
    nothing_after_the_end,
    nothing_starts_while_paused,
    needs_met,
    step_ends_once,
    completed_when_all_ended,
    parallelism_kept,
    one_compensation_at_a_time,
)
