"""Tests the states that follow from events."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.recorded.written_events import (
    FAILURE,
    TIMED_OUT,
    Written,
    compensated,
    failed,
    fan_out,
    item_over,
    retried,
    started,
    succeeded,
    told,
)

from tenax.model.state.attempt import is_open
from tenax.model.state.execution import ExecutionState, StepState, apply, fold
from tenax.model.state.fan_out import COMPENSATION_STATES, ITEM_STATES
from tenax.policy.transitions import STEP


def state_of(*written: str | Written) -> StepState:
    return fold(told(*written), ["s"]).steps["s"]


def test_what_recovery_reads_of_a_step_that_waits():
    step = state_of("execution_started", "step_enqueued", started(1), failed(1), retried(1))
    assert (step.status, step.attempt, step.ledger) == ("retrying", 1, {"counted": 1})
    assert (step.enqueued_at, step.available_at) == ("2026-01-01T00:00:02Z", "2026-01-01T01:00:00Z")
    assert (step.attempts[-1].worker, step.attempts[-1].outcome) == ("w", "failed")
    assert (step.attempts[-1].verdict, step.attempts[-1].delay_seconds) == ("retry", 2.0)


ENDS = {
    "step_completed": ({}, "completed"),
    "step_skipped": ({"when": "false"}, "skipped"),
    "step_unreachable": ({"cause": "a"}, "unreachable"),
    "step_failed_terminal": ({"failure": FAILURE}, "failed"),
    "item_cancelled": ({"was": "queued"}, "cancelled"),
}


@pytest.mark.parametrize(("kind", "data", "status"), [(kind, *more) for kind, more in ENDS.items()])
def test_how_a_step_ends(kind, data, status):
    step = state_of("step_enqueued", (kind, {"data": data}))
    assert (step.status, step.available_at) == (status, None)


OPEN_ENDS = {
    "pending": (),
    "queued": ("step_enqueued",),
    "retrying": ("step_enqueued", started(1), failed(1), retried(1)),
    "held": ("step_enqueued", started(1), failed(1), ("retry_held", {"attempt": 1})),
}


@pytest.mark.parametrize("status", OPEN_ENDS)
@pytest.mark.parametrize("end", ["execution_failed", "execution_cancelled", "execution_compensating"])
def test_what_waits_is_cancelled_when_the_end_is_settled(status, end):
    assert state_of(*OPEN_ENDS[status]).status == status
    assert state_of(*OPEN_ENDS[status], end).status == "cancelled"
    assert state_of("step_enqueued", started(1), end).status == "running", "what runs may finish"


# -- callbacks


def test_accepted_is_still_running_and_waits_for_its_callback():
    accepted = ("action_accepted", {"attempt": 1, "data": {"deadline_at": "2026-01-02T00:00:00Z"}})
    step = state_of("step_enqueued", started(1), accepted)
    assert (step.status, step.attempts[0].outcome) == ("running", "accepted")
    assert step.waiting == {"for": "callback", "deadline_at": "2026-01-02T00:00:00Z"}
    done = state_of("step_enqueued", started(1), accepted, succeeded(1, result=5), "step_completed")
    assert (done.status, done.result, done.waiting) == ("completed", 5, None)
    early = state_of("step_enqueued", started(1), succeeded(1, result=5), accepted, "step_completed")
    assert (early.status, early.attempts[0].outcome) == ("completed", "succeeded"), "before the 2xx"


@pytest.mark.parametrize(
    ("between", "later"),
    [((), None), ((started(2),), "superseded"), ((started(2), failed(2), retried(2, counted=2)), "failed")],
)
def test_an_old_attempts_success(between, later):
    counted = 2 if later == "failed" else 1
    decision = {"verdict": "complete", "rule": "success", "after": {"counted": counted}}
    late = {"result": "late but welcome", "via": "callback", "decision": decision}
    step = state_of(
        "step_enqueued",
        started(1),
        ("action_accepted", {"attempt": 1, "data": {}}),
        failed(1, failure=TIMED_OUT),
        retried(1),
        *between,
        ("action_completed", {"attempt": 1, "data": late}),
        "step_completed",
    )
    assert (step.status, step.result, step.available_at) == ("completed", "late but welcome", None)
    first, last = step.attempts[0], step.attempts[-1]
    assert (first.attempt, first.outcome, first.failure, first.verdict) == (1, "failed", TIMED_OUT, "retry")
    assert (first.delay_seconds, first.via) == (2.0, None), "how it was given up is kept"
    assert (last.attempt, last.outcome, last.failure, last.verdict) == (1, "succeeded", None, "complete")
    assert (last.started_at, last.delay_seconds, last.via) == (None, None, "callback")
    assert step.counted == counted
    assert step.attempt == max(attempt.attempt for attempt in step.attempts), "numbers only rise"
    assert [attempt.outcome for attempt in step.attempts[1:-1]] == ([later] if later else [])


# -- waiting, polling, vary


@pytest.mark.parametrize(
    "waiting",
    [
        {"for": "sleep", "until": "2026-01-02T00:00:00Z"},
        {"for": "signal", "signal": "paid", "deadline_at": "2026-01-02T00:00:00Z"},
        {"for": "approval"},
        {"for": "child"},
    ],
)
def test_what_the_server_carries_out_is_running_and_says_what_it_waits_for(waiting):
    begun = started(1, worker=None, waiting=waiting, **({"child": 7} if waiting["for"] == "child" else {}))
    step = state_of("step_enqueued", begun)
    assert (step.status, step.waiting) == ("running", waiting)
    assert step.shown()["waiting"] == waiting
    assert step.attempts[0].child == (7 if waiting["for"] == "child" else None)
    over = state_of("step_enqueued", begun, succeeded(1), "step_completed")
    assert (over.status, over.waiting) == ("completed", None)


def test_polls_do_not_count_and_keep_the_last_result():
    def polled(attempt: int) -> tuple[Written, ...]:
        data = {"result": {"done": False, "n": attempt}, "polls": attempt}
        return started(attempt), ("action_polled", {"attempt": attempt, "data": data}), retried(attempt, counted=0)  # fmt: skip

    step = state_of("step_enqueued", *polled(1), *polled(2))
    assert (step.status, step.polls, step.counted, step.attempt) == ("retrying", 2, 0, 2)
    assert (step.previous, step.result) == ({"done": False, "n": 2}, None)
    assert [attempt.outcome for attempt in step.attempts] == ["polled", "polled"]
    done = state_of("step_enqueued", *polled(1), started(2), succeeded(2, result="it"), "step_completed")
    assert (done.status, done.result, done.polls, done.counted) == ("completed", "it", 1, 1)


def test_vary_is_recorded_in_the_attempt():
    vary = {"entry": 0, "override": {"args": {"model": "large"}}}
    step = state_of("step_enqueued", started(1), failed(1), retried(1), started(2, vary=vary))
    assert [attempt.vary for attempt in step.attempts] == [None, vary]


def test_a_value_in_the_place_of_a_failure():
    terminal = ("step_failed_terminal", {"attempt": 1, "data": {"failure": FAILURE, "on_failure": "value"}})
    instead = ("step_completed", {"data": {"result": [], "on_failure": "value"}})
    step = state_of("step_enqueued", started(1), failed(1), terminal, instead)
    assert (step.status, step.result, step.failure, step.on_failure) == ("completed", [], FAILURE, "value")
    for action in ("continue", "step"):
        data = {"failure": FAILURE, "on_failure": action}
        left = state_of("step_enqueued", started(1), failed(1), ("step_failed_terminal", {"data": data}))
        assert (left.status, left.on_failure, left.failure) == ("failed", action, FAILURE)


# -- fan-outs


def counts_of(step: StepState) -> dict[str, int]:
    assert step.fan_out is not None
    return {name: count for name, count in step.fan_out.counts().items() if count}


FAN_OUT_STATES: list[tuple[tuple[Written, ...], str, dict[str, int]]] = [
    ((), "queued", {"total": 4, "queued": 2, "waiting": 2}),
    ((started(1, 0),), "running", {"total": 4, "running": 1, "queued": 1, "waiting": 2}),
    (
        (started(1, 0), failed(1, 0), retried(1, 0)),
        "queued",
        {"total": 4, "retrying": 1, "queued": 2, "waiting": 1},
    ),
    (
        tuple(one for item in range(4) for one in (started(1, item), failed(1, item), retried(1, item))),
        "retrying",
        {"total": 4, "retrying": 4},
    ),
    (
        (started(1, 0), ("action_accepted", {"item": 0, "attempt": 1, "data": {}})),
        "running",
        {"total": 4, "accepted": 1, "queued": 1, "waiting": 2},
    ),
    (
        (started(1, 3), succeeded(1, 3), item_over(3)),
        "queued",
        {"total": 4, "succeeded": 1, "queued": 2, "waiting": 1},
    ),
    (
        (started(1, 0), ("lease_released", {"item": 0, "attempt": 1, "data": {"reason": "draining"}})),
        "queued",
        {"total": 4, "queued": 2, "waiting": 2},
    ),
]


@pytest.mark.parametrize(("events", "status", "counts"), FAN_OUT_STATES)
def test_a_fan_out_stands_as_its_items_do(events, status, counts):
    step = state_of(fan_out(4), *events)
    assert (step.status, counts_of(step)) == (status, counts)
    assert (step.attempts, step.attempt) == ([], 0), "attempts are the items'"


def test_the_results_of_a_fan_out_keep_their_order_and_failed_items_are_null():
    step = state_of(
        fan_out(3),
        started(1, 2), started(1, 0),
        succeeded(1, 2, "c"), item_over(2),
        failed(1, 0), item_over(0, "item_failed", failure=FAILURE, tolerated=True, attempts=1),
        started(1, 1), failed(1, 1), retried(1, 1), started(2, 1), succeeded(2, 1, "b"), item_over(1),
        "step_completed",
    )  # fmt: skip
    assert (step.status, step.result, step.failure) == ("completed", [None, "b", "c"], None)
    assert counts_of(step) == {"total": 3, "succeeded": 2, "failed": 1}
    assert (step.items[0].status, step.items[0].failure, step.items[0].tolerated) == ("failed", FAILURE, True)
    assert [attempt.outcome for attempt in step.items[1].attempts] == ["failed", "succeeded"]
    assert step.shown()["items"]["succeeded"] == 2


def test_an_empty_list():
    step = state_of(fan_out(0), "step_completed")
    assert (step.status, step.result) == ("completed", [])


def test_beyond_its_tolerance_a_fan_out_fails_and_what_runs_finishes():
    events: tuple[Written, ...] = (
        fan_out(5, 3),
        started(1, 0), started(1, 1), started(1, 2), failed(1, 2), retried(1, 2),
        failed(1, 0), item_over(0, "item_failed", failure=FAILURE),
        ("step_failed_terminal", {"data": {"failure": FAILURE}}),
    )  # fmt: skip
    step = state_of(*events)
    assert (step.status, counts_of(step)) == (
        "failed",
        {"total": 5, "running": 1, "failed": 1, "cancelled": 3},
    )
    later = state_of(*events, succeeded(1, 1, "b"), item_over(1))
    assert (later.status, counts_of(later)["succeeded"]) == ("failed", 1), "its own status stays"


def test_items_that_never_had_their_turn_are_cancelled_by_one_event():
    never = ("item_cancelled", {"data": {"was": "waiting", "count": 2, "items": [[3, 4]]}})
    cancelled = ("item_cancelled", {"item": 2, "data": {"was": "queued"}})
    begun = (fan_out(5, 3), started(1, 0), started(1, 1), cancelled, never)
    step = state_of(*begun, ("execution_failed", {"data": {}}))
    assert (step.status, counts_of(step)) == ("running", {"total": 5, "running": 2, "cancelled": 3})
    later = state_of(*begun, "execution_failed", succeeded(1, 0), item_over(0), succeeded(1, 1), item_over(1))
    assert (later.status, counts_of(later)) == ("cancelled", {"total": 5, "succeeded": 2, "cancelled": 3})


def test_without_the_events_of_its_items_the_results_of_a_fan_out_are_not_known():
    assert state_of(fan_out(3), "step_completed").result is None


def test_an_item_that_waits_for_something_outside_is_accepted():
    step = state_of(fan_out(2), started(1, 1, worker=None, waiting={"for": "approval"}))
    assert (step.status, step.items[1].status, step.items[1].waiting) == (
        "running",
        "accepted",
        {"for": "approval"},
    )
    assert step.shown()["waiting"] == {"for": "approval", "item": 1}


def test_when_a_fan_out_retries_it_is_due_with_the_first_of_its_items():
    step = state_of(
        fan_out(2),
        started(1, 0), failed(1, 0), retried(1, 0, available_at="2026-01-01T02:00:00Z"),
        started(1, 1), failed(1, 1), retried(1, 1, available_at="2026-01-01T01:30:00Z"),
    )  # fmt: skip
    assert (step.status, step.shown()["available_at"]) == ("retrying", "2026-01-01T01:30:00Z")


def test_a_large_fan_out_is_folded_in_linear_time():
    def seconds(items: int) -> float:
        events = told(
            fan_out(items, 50),
            *(one for n in range(items) for one in (started(1, n), succeeded(1, n), item_over(n))),
        )
        begin = time.process_time()
        step = fold(events).steps["s"]
        assert step.items[items - 1].status == "succeeded"
        return time.process_time() - begin

    small, large = seconds(2_000), seconds(20_000)
    assert large < 40 * small, "ten times the items, about ten times the time"


# -- compensation


RETRY = {"delay_seconds": 1.0, "available_at": "2026-01-01T01:00:00Z", "decision": {"verdict": "retry", "after": {"counted": 1}}}  # fmt: skip
BEGUN = (compensated("enqueued"), compensated("started", attempt=1, worker="w", retry={"max_attempts": 3}))
COMPENSATIONS: dict[str, tuple[Written, ...]] = {
    "queued": BEGUN[:1],
    "running": BEGUN,
    "retrying": (*BEGUN, compensated("error", attempt=1, failure=FAILURE), compensated("retry", attempt=1, **RETRY)),
    "completed": (*BEGUN, compensated("completed", attempt=1, result="undone", attempts=1)),
    "failed": (*BEGUN, compensated("error", attempt=1, failure=FAILURE), compensated("failed", attempt=1, failure=FAILURE)),
    "held": (*BEGUN, compensated("error", attempt=1, failure=FAILURE), compensated("retry", attempt=1, held=True, **RETRY)),
    "cancelled": (*BEGUN, compensated("cancelled", attempt=1)),
}  # fmt: skip


@pytest.mark.parametrize("status", COMPENSATIONS)
def test_a_compensation_has_states_of_its_own(status):
    before = ("step_enqueued", started(1), succeeded(1, result="done"), "step_completed")
    step = state_of(*before, "execution_compensating", *COMPENSATIONS[status])
    assert (step.status, step.result, len(step.attempts)) == ("completed", "done", 1), "the step's own stay"
    assert step.compensation is not None
    assert step.compensation.status == status
    shown = step.compensation.view()
    assert (shown.status, shown.items, len(shown.attempts)) == (
        status,
        None,
        0 if status == "queued" else 1,
    )
    assert set(COMPENSATIONS) | {"pending"} == set(COMPENSATION_STATES)


@pytest.mark.parametrize(
    ("how", "outcome"),
    [(None, "failed"), ("lease_expired", "lost"), ("queue_expired", "expired"), ("timed_out", "failed"), ("not_completed", "not_completed")],
)  # fmt: skip
def test_how_an_attempt_at_a_compensation_ended(how, outcome):
    data = {"failure": FAILURE} | ({"how": how} if how else {})
    step = state_of("execution_compensating", *BEGUN, compensated("error", attempt=1, **data))
    assert step.compensation is not None
    assert step.compensation.attempts[0].outcome == outcome


def test_a_compensations_lease_that_was_handed_back_is_not_the_steps():
    released = ("lease_released", {"attempt": 1, "data": {"compensation": True, "reason": "draining"}})
    step = state_of("step_enqueued", started(1), succeeded(1), "step_completed", *BEGUN, released)
    assert step.status == "completed"
    assert step.compensation is not None
    assert (step.compensation.status, step.compensation.attempts[0].outcome) == ("queued", "released")


def test_the_compensations_of_a_fan_out_stand_together():
    events: tuple[Written, ...] = (
        compensated("enqueued", 1),
        compensated("started", 1, 1, worker="w"),
        compensated("completed", 1, 1),
        compensated("enqueued", 0),
    )
    step = state_of(*events)
    assert step.compensation is not None
    assert step.compensation.status == "queued"
    over = state_of(*events, compensated("started", 0, 1), compensated("failed", 0, 1, failure=FAILURE))
    assert over.compensation is not None
    assert over.compensation.status == "failed"
    items = over.compensation.counts()
    assert {name: count for name, count in items.items() if count} == {
        "total": 2,
        "completed": 1,
        "failed": 1,
    }


def test_compensations_that_never_had_their_turn_are_cancelled_by_one_event():
    never = ("compensation_cancelled", {"data": {"was": "waiting", "count": 3, "items": [[0, 2]]}})
    step = state_of(compensated("enqueued", 3), compensated("cancelled", 3), never)
    assert step.compensation is not None
    assert step.compensation.status == "cancelled"
    assert step.compensation.counts()["total"] == step.compensation.counts()["cancelled"] == 4


EXECUTIONS: list[tuple[tuple[str | Written, ...], str, str | None]] = [
    (("execution_started",), "running", None),
    (("execution_paused",), "paused", None),
    (("execution_paused", "execution_resumed"), "running", None),
    (("execution_compensating",), "running", "running"),
    (("execution_compensating", ("execution_compensated", {"data": {"completed": 3, "failed": 0}})), "running", "completed"),
    (("execution_compensating", ("execution_compensated", {"data": {"completed": 2, "failed": 1}}), "execution_failed"), "failed", "failed"),
    (("execution_compensating", "execution_cancelled"), "cancelled", "cancelled"),
    (("execution_cancelled",), "cancelled", None),
]  # fmt: skip


@pytest.mark.parametrize(("events", "status", "compensation"), EXECUTIONS)
def test_an_execution(events, status, compensation):
    state = fold(told(*events))
    assert (state.status, state.compensation) == (status, compensation)


# -- any order that the engine could write, and any that it could not

KINDS = [
    "execution_started", "execution_compensating", "execution_compensated", "execution_failed", "step_enqueued",
    "step_retry", "step_failed_terminal", "step_completed", "action_started", "action_completed", "action_error",
    "action_polled", "action_accepted", "lease_expired", "lease_released", "retry_held", "item_completed",
    "item_failed", "item_cancelled", "late_result", "signal_received", "compensation_enqueued",
    "compensation_started", "compensation_error", "compensation_retry", "compensation_completed",
    "compensation_failed", "compensation_cancelled",
]  # fmt: skip


@st.composite
def any_event(draw: st.DrawFn) -> Written:
    kind = draw(st.sampled_from(KINDS))
    more: dict[str, Any] = {"attempt": draw(st.integers(1, 3)), "data": {}}
    if not kind.startswith(("execution_", "step_enqueued")):
        more["item"] = draw(st.sampled_from([None, 0, 1, 5]))
    if kind == "step_enqueued" and draw(st.booleans()):
        more["data"] = {"items": draw(st.integers(0, 4)), "parallelism": draw(st.integers(1, 3))}
    return kind, more


@given(st.lists(any_event(), max_size=40))
def test_no_order_of_events_breaks_it_and_the_counts_are_those_of_the_items(written):
    state = ExecutionState()
    for event in told(*written):
        apply(state, event)
    for step in state.steps.values():
        assert step.status in STEP
        step.shown()
        numbers = [attempt.attempt for attempt in step.attempts if is_open(attempt)]
        assert step.waiting is None or numbers
        if step.fan_out is not None:
            counts = step.fan_out.counts()
            assert sum(counts[name] for name in ITEM_STATES) == counts["total"]
            assert min(counts.values()) >= 0
            for name in ("running", "accepted", "retrying", "held", "succeeded", "failed"):
                assert counts[name] == sum(item.status == name for item in step.items.values())
        if step.compensation is not None:
            assert step.compensation.status in COMPENSATION_STATES


def test_a_snooze_past_its_limit_as_version_0_1_wrote_it_is_a_failure():
    failure = {"class": "transient", "reason": "snooze_limit", "message": "it snoozed again"}
    state = fold(told(started(1), ("action_snoozed", {"attempt": 1, "data": {"failure": failure}})))
    assert state.steps["s"].attempts[0].outcome == "failed"
    state = fold(told(started(1), ("action_snoozed", {"attempt": 1})))
    assert state.steps["s"].attempts[0].outcome == "snoozed"
