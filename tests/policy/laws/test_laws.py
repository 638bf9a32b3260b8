"""Tests every law, by a history that obeys all laws and by one for each law that breaks it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from support.strategies.histories import (
    DAWN,
    Break,
    History,
    graph,
    item_of,
    one_retry,
    undone,
    waiting_retry,
)

from tenax.model.decision import DECIDER_VERSION
from tenax.policy.laws import LAWS, LawViolation, VerifyTally
from tenax.policy.laws.facts import ItemFacts, LeftResult, LetterFacts, fingerprint
from tenax.policy.laws.law import MOST_VIOLATIONS
from tenax.policy.laws.rows import plan_is_readable, recorded_result_taken, rows_have_an_execution
from tenax.policy.retry.resolve import compile_policy

Make = Callable[[], History]


@pytest.mark.parametrize("make", [one_retry, waiting_retry, graph, undone])
def test_a_good_history_obeys_every_law(make: Make) -> None:
    tally = make().check()
    assert tally.violations == []
    assert tally.events > 4


def swap_verdict(history: History) -> None:
    history.change_decision("step_retry", verdict="fail")


def start_in_pause(history: History) -> None:
    place = [e.type for e in history.events].index("action_started")
    before = history.events[place - 1]
    history.events.insert(
        place, before._replace(id=before.id + 1, type="execution_paused", step=None, data={})
    )


def second_end_of_step(history: History) -> None:
    history.repeat("step_completed")


def retried_after_end(history: History) -> None:
    retry = next(e for e in history.events if e.type == "step_retry")
    place = [e.type for e in history.events].index("step_completed")
    history.events.insert(place + 1, retry._replace(id=history.events[place].id + 1))


def grant_two(history: History) -> None:
    """An operator's action that says that it grants two attempts at once."""
    retry = next(e for e in history.events if e.type == "step_retry")
    place = history.events.index(retry)
    ledger = {**retry.data["decision"]["after"], "granted": 2}
    moved = {"available_at": retry.data["available_at"], "actor": "ann", "ledger": ledger}
    history.events.insert(place + 1, retry._replace(id=retry.id + 1, type="retry_rescheduled", data=moved))


def start_after_end(history: History) -> None:
    history.start("a", 3)


def queue_fan_out_first(history: History) -> None:
    place = [(e.type, e.step) for e in history.events].index(("step_enqueued", "each"))
    found = history.events.pop(place)
    history.events.insert(3, found._replace(id=history.events[2].id + 1))


def start_items_together(history: History) -> None:
    places = [n for n, e in enumerate(history.events) if e.type == "action_started" and e.step == "each"]
    second = history.events.pop(places[1])
    first = history.events[places[0]]
    history.events.insert(places[0] + 1, second._replace(id=first.id + 1))


def undo_together(history: History) -> None:
    places = [n for n, e in enumerate(history.events) if e.type == "compensation_enqueued"]
    second = history.events.pop(places[1])
    history.events.insert(places[0] + 1, second._replace(id=history.events[places[0]].id + 1))


def lose_result_row(history: History) -> None:
    del history.item_results["each", 1]


def needless_letter(history: History) -> None:
    history.rows.letters.append(
        LetterFacts(
            step="a", item=None, undoes=False, status="open", rule="attempts_exhausted", failure_class="transient",
            reason="http_503", message="", attempts=3, failed_times=1, tolerated=False, first_at=DAWN, last_at=DAWN,
        )
    )  # fmt: skip


def drop_item(history: History) -> None:
    history.rows.items = []


def hold_without_end(history: History) -> None:
    history.change("step_retry", type="retry_held")
    history.change_decision("retry_held", verdict="hold")
    item_of(history, state="held", expires_at=None)


def change_fan_out(history: History) -> None:
    history.rows.fan_outs["each"] = replace(history.rows.fan_outs["each"], ended=1)


def change_step(history: History) -> None:
    history.rows.steps["a"] = replace(history.rows.steps["a"], attempts=2)


ONE_ATTEMPT = replace(one_retry().plan.steps["a"].policy.policy, max_attempts=1)


def lower_the_limit(history: History) -> None:
    step = replace(history.plan.steps["a"], policy=compile_policy(ONE_ATTEMPT))
    history.plan = replace(history.plan, steps={"a": step})


CASES: dict[str, tuple[Make, Break]] = {
    "attempt-number-used-once": (one_retry, lambda h: h.change("action_started", 1, attempt=1)),
    "start-of-ready-work": (one_retry, lambda h: h.remove("step_enqueued")),
    "no-start-before-due": (
        one_retry,
        lambda h: h.change("action_started", 1, at=h.events[4].at + timedelta(seconds=0.5)),
    ),
    "attempts-within-limit": (one_retry, lower_the_limit),
    "end-follows-start": (one_retry, lambda h: h.remove("action_started", 1)),
    "one-end-per-attempt": (one_retry, lambda h: h.repeat("action_error")),
    "end-not-before-start": (one_retry, lambda h: h.change("action_completed", at=DAWN)),
    "report-names-current-token": (one_retry, lambda h: h.change("action_completed", token="token-1")),
    "outcome-decided-at-once": (one_retry, lambda h: h.change("step_retry", transaction=1)),
    "work-ends-once": (one_retry, retried_after_end),
    "operators-change-ledgers-as-said": (one_retry, grant_two),
    "decision-replays": (one_retry, lambda h: h.change_decision("step_retry", reason="because")),
    "decisions-go-on": (one_retry, lambda h: h.change_decision("step_retry", elapsed=99.0)),
    "verdict-obeyed": (one_retry, swap_verdict),
    "retry-due-at-decision-time": (
        one_retry,
        lambda h: h.change_data("step_retry", available_at="2026-01-01T00:00:02Z"),
    ),
    "events-conform": (one_retry, lambda h: h.change_data("action_error", failure={"class": "transient"})),
    "begins-once": (one_retry, lambda h: h.remove("execution_started")),
    "order-and-time": (one_retry, lambda h: h.change("step_enqueued", at=DAWN - timedelta(seconds=2))),
    "events-of-the-plan": (one_retry, lambda h: h.change("step_enqueued", step="z")),
    "nothing-after-the-end": (one_retry, start_after_end),
    "nothing-starts-while-paused": (one_retry, start_in_pause),
    "needs-met": (graph, queue_fan_out_first),
    "step-ends-once": (one_retry, second_end_of_step),
    "completed-when-all-ended": (one_retry, lambda h: h.remove("step_completed")),
    "parallelism-kept": (graph, start_items_together),
    "one-compensation-at-a-time": (undone, undo_together),
    "execution-row": (one_retry, lambda h: h.change_row(state="failed")),
    "step-row": (graph, change_step),
    "fan-out-row": (graph, change_fan_out),
    "item-result-row": (graph, lose_result_row),
    "dead-letter-row": (one_retry, needless_letter),
    "item-row": (waiting_retry, drop_item),
    "unfinished-item-has-a-wake-up": (waiting_retry, hold_without_end),
    "unfinished-execution-goes-on": (waiting_retry, lambda h: h.change_row(has_work=False)),
}
ELSEWHERE = {
    "rows-have-an-execution",
    "plan-is-readable",
    "recorded-result-taken",
    "budget-row",
    "budget-sums",
}
"""Laws with tests of their own: below, and in `test_budget_laws.py`. A recorded result is tested where it is reported."""


@pytest.mark.parametrize("name", CASES)
def test_a_history_that_breaks_the_law_is_found(name: str) -> None:
    make, change = CASES[name]
    history = make()
    change(history)
    assert name in history.broken()


def test_every_law_has_a_case_and_a_sentence() -> None:
    assert set(CASES) | ELSEWHERE == set(LAWS)
    for law in LAWS.values():
        assert law.name == law.name.lower()
        assert law.sentence.endswith(".")


def test_laws_on_what_cannot_be_looked_at_say_so() -> None:
    assert list(rows_have_an_execution("step")) == [
        "the table `step` has rows of an execution that does not exist"
    ]
    [message] = plan_is_readable(3)
    assert "plan 3" in message
    for ended, words in ((True, "could end the attempt again"), (False, "was not taken")):
        [message] = recorded_result_taken(LeftResult(1, "only", None, 1, ended))
        assert words in message


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("state", "failed"),
        ("open_steps", 1),
        ("finished_at", None),
        ("created_at", DAWN - timedelta(seconds=1)),
        ("result", {"a": 43}),
        ("failure", {"class": "timeout"}),
        ("compensation", "running"),
        ("input", {"x": 1}),
        ("retry_of", 3),
        ("original_execution", 3),
        ("parent_id", 3),
        ("parent_step", "a"),
        ("parent_item_no", 0),
        ("parent_attempt", 1),
    ],
)
def test_every_column_of_an_execution_is_compared(column: str, value: object) -> None:
    history = one_retry()
    history.change_row(**{column: value})
    assert history.broken() == {"execution-row"}


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("state", "queued"),
        ("attempt", 2),
        ("max_attempts", 4),
        ("ledger", {"counted": 0}),
        ("last_error", "another"),
        ("available_at", DAWN),
        ("created_at", DAWN + timedelta(seconds=1)),
        ("awaiting", "callback"),
        ("previous", 1),
        ("stopped_by", "pause"),
        ("lease_token", "token-1"),
    ],
)
def test_every_column_of_a_work_item_is_compared(column: str, value: object) -> None:
    history = waiting_retry()
    item_of(history, **{column: value})
    assert history.broken() == {"item-row"}


def test_a_lease_is_compared_with_the_start_of_its_attempt() -> None:
    history = one_retry()
    del history.events[6:]
    start, retry = history.events[5], history.events[4]
    row = ItemFacts(
        step="a", item=None, undoes=False, state="leased", attempt=2, max_attempts=3,
        available_at=retry.at + timedelta(seconds=1), created_at=history.events[1].at, started_at=start.at,
        ledger=(retry.decision or {})["after"], last_error=retry.data["last_error"], worker="w1", lease_token="t",
        expires_at=start.at,
    )  # fmt: skip
    history.change_row(state="running", open_steps=1, result=None, finished_at=None, has_work=True)
    history.rows.items = [row]
    assert history.broken() == set()
    for changes in ({"worker": "w2"}, {"started_at": DAWN}, {"lease_token": "token-1"}):
        item_of(history, **changes)
        assert history.broken() == {"item-row"}
        history.rows.items = [row]


def test_decisions_of_another_version_are_counted_and_not_made_again() -> None:
    history = one_retry()
    history.change_decision("step_retry", version=DECIDER_VERSION - 1, reason="as it was said then")
    tally = history.check()
    assert tally.violations == []
    assert tally.other_versions == {str(DECIDER_VERSION - 1): 1}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda h: h.change_data("action_started", worker=7), "got `int` - at `$.data.worker`"),
        (lambda h: h.change("action_started", data={"worker": "w1"}), "missing required field `retry`"),
        (lambda h: h.change("action_started", attempt=None), "missing required field `attempt`"),
        (lambda h: h.change("step_enqueued", item=0), "unknown field `item`"),
        (lambda h: h.change("execution_completed", type="execution_done"), "no event type 'execution_done'"),
    ],
)
def test_a_damaged_event_is_named(change: Break, words: str) -> None:
    history = one_retry()
    change(history)
    found = [v for v in history.check().violations if v.law == "events-conform"]
    assert [words in v.message for v in found] == [True]
    assert len(found[0].events) == 1


def test_events_may_have_fields_that_are_not_known_yet() -> None:
    history = one_retry()
    for kind in ("action_error", "step_retry", "step_completed", "execution_completed"):
        history.change_data(kind, something_new={"x": 1})
    assert history.broken() == set()


def test_a_late_report_changes_nothing_but_must_not_have_been_applied() -> None:
    history = one_retry()
    last = history.events[-1]
    late = history.events[2]._replace(
        id=last.id + 1, at=last.at, type="late_result", token="another", data={"status": "snoozed"}
    )
    history.events.append(late)
    assert history.broken() == set()
    history.events[-1] = late._replace(token="token-1", data={"status": "succeeded", "result": "otherwise"})
    assert history.broken() == set(), "the report contradicts the one that was applied"
    [failed] = [event for event in history.events if event.type == "action_error"]
    history.events[-1] = late._replace(token="token-1", data={**failed.data, "status": "failed"})
    assert history.broken() == {"report-names-current-token"}


def test_a_violation_names_its_events() -> None:
    history = one_retry()
    history.change("action_completed", token="token-1")
    [violation] = history.check().violations
    assert violation.step == "a"
    assert violation.attempt == 2
    assert history.events[6].id in violation.events


def test_only_so_many_violations_are_kept() -> None:
    tally = VerifyTally()
    for number in range(MOST_VIOLATIONS + 5):
        tally.add(LawViolation("begins-once", number, "it has no events"))
    assert len(tally.violations) == MOST_VIOLATIONS
    assert tally.not_shown == 5


@pytest.mark.parametrize(
    ("one", "other"), [(1.0, 1), ({"a": 1, "b": 2}, {"b": 2.0, "a": 1}), ([1e16], [10**16]), (None, None)]
)
def test_values_that_jsonb_takes_for_the_same_have_one_fingerprint(one: object, other: object) -> None:
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(("one", "other"), [(True, 1), (0.5, 1), ("1", 1), ({}, []), (None, {})])
def test_other_values_have_another_fingerprint(one: object, other: object) -> None:
    assert fingerprint(one) != fingerprint(other)
