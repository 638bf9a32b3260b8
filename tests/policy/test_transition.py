"""Tests the one transition by tables: the state of an item, the end of its attempt, and everything that follows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.recorded.one_transition import (
    BUSY,
    GONE,
    GOOD,
    NOW,
    RULES,
    TWICE,
    UNDO,
    fan_out,
    item,
    made,
    plan_of,
    types,
)

from tenax.model.attempt.outcome import Facts, Outcome, Usage
from tenax.model.changes import Loss
from tenax.model.decision import Ledger
from tenax.model.events.parts import UsageRecord
from tenax.model.json_text import decode, encode
from tenax.policy.outcome_events import How
from tenax.policy.transitions import IllegalTransition

TABLE: dict[str, tuple[dict[str, Any], str, list[str], str | None, str | None]] = {
    # what happened: arguments, verdict, events, the item's next state (None: it is over), the step's end
    "a success": ({"outcome": GOOD}, "complete", ["action_completed", "step_completed"], None, "completed"),
    "a success after failures": (
        {"outcome": GOOD, "of": item(ledger=TWICE, attempt=3)},
        "complete",
        ["action_completed", "step_completed"],
        None,
        "completed",
    ),
    "a failure": ({"outcome": BUSY}, "retry", ["action_error", "step_retry"], "retrying", None),
    "the last failure": (
        {"outcome": BUSY, "of": item(ledger=TWICE, attempt=3)},
        "fail",
        ["action_error", "step_retry_exhausted", "step_failed_terminal"],
        None,
        "failed",
    ),
    "a failure that is not retried": (
        {"outcome": GONE},
        "fail",
        ["action_error", "step_failed_terminal"],
        None,
        "failed",
    ),
    "not completed": (
        {"outcome": Outcome("not_completed", facts=Facts())},
        "retry",
        ["action_not_completed", "step_retry"],
        "retrying",
        None,
    ),
    "snoozed": (
        {"outcome": Outcome("snoozed", after=5.0)},
        "retry",
        ["action_snoozed", "step_retry"],
        "retrying",
        None,
    ),
    "a lost lease": (
        {
            "outcome": Outcome(
                "failed", facts=Facts(failure_class="worker_lost", reason="worker_heartbeat_stale")
            ),
            "how": "lease_expired",
            "lost": Loss("w1", 7, NOW, None, 5),
        },
        "retry",
        ["lease_expired", "step_retry"],
        "retrying",
        None,
    ),
    "too long in the queue": (
        {
            "outcome": Outcome(
                "failed", facts=Facts(failure_class="queue_timeout", reason="queue_ttl_expired")
            ),
            "how": "queue_expired",
            "of": item(state="queued", worker=None, started_at=None, lease_token=None),
        },
        "retry",
        ["queue_expired", "step_retry"],
        "retrying",
        None,
    ),
    "a callback": (
        {"outcome": GOOD, "how": "callback", "of": item(state="accepted", worker=None)},
        "complete",
        ["action_completed", "step_completed"],
        None,
        "completed",
    ),
    "a callback for an attempt that was given up": (
        {
            "outcome": GOOD,
            "how": "callback",
            "of": item(state="retrying", worker=None, attempt=2),
            "attempt": 1,
        },
        "complete",
        ["action_completed", "step_completed"],
        None,
        "completed",
    ),
    "one of a fan-out succeeds": (
        {"outcome": GOOD, "of": item(item_no=0), "fan": fan_out()},
        "complete",
        ["action_completed", "item_completed"],
        None,
        None,
    ),
    "one of a fan-out fails": (
        {"outcome": GONE, "of": item(item_no=0), "fan": fan_out()},
        "fail",
        ["action_error", "item_failed"],
        None,
        None,
    ),
    "its execution is over": (
        {"outcome": GOOD, "execution_open": False},
        "stop",
        ["action_completed", "step_completed"],
        None,
        None,
    ),
    "its execution is over, and it failed": (
        {"outcome": BUSY, "execution_open": False},
        "stop",
        ["action_error", "step_failed_terminal"],
        None,
        None,
    ),
    "its fan-out is over": (
        {"outcome": BUSY, "of": item(item_no=0), "fan": fan_out(closed=True)},
        "stop",
        ["action_error", "item_failed"],
        None,
        None,
    ),
    "held for too long": (
        {
            "outcome": Outcome("failed", facts=Facts(failure_class="worker_lost", reason="hold_expired")),
            "how": "hold_expired",
            "of": item(state="held", worker=None, started_at=None, lease_token=None),
        },
        "fail",
        ["step_failed_terminal"],
        None,
        "failed",
    ),
    "retries are switched off": (
        {"outcome": BUSY, "rules": RULES._replace(retries_enabled=False)},
        "fail",
        ["action_error", "step_failed_terminal"],
        None,
        "failed",
    ),
    "a compensation succeeds": (
        {"outcome": GOOD, "plan": plan_of(UNDO), "of": item(compensates=True)},
        "complete",
        ["compensation_completed"],
        None,
        None,
    ),
    "a compensation fails": (
        {"outcome": BUSY, "plan": plan_of(UNDO), "of": item(compensates=True)},
        "retry",
        ["compensation_error", "compensation_retry"],
        "retrying",
        None,
    ),
    "a compensation fails for good": (
        {"outcome": GONE, "plan": plan_of(UNDO), "of": item(compensates=True)},
        "fail",
        ["compensation_error", "compensation_failed"],
        None,
        None,
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_what_follows(name):
    arguments, verdict, events, state, step = TABLE[name]
    one = made(**arguments)
    assert (one.decision.verdict, types(one)) == (verdict, events)
    assert (one.again.state if one.again is not None else None) == state
    assert (one.ended_step.state if one.ended_step is not None else None) == step


def test_a_retry_is_due_after_its_delay_and_carries_the_ledger():
    one = made(BUSY)
    assert one.again is not None
    assert one.again.available_at == NOW + timedelta(seconds=10)
    assert decode(one.again.ledger) == decode(encode(one.decision.after))
    assert (one.decision.after.counted, one.decision.after.by_class) == (1, {"transient": 1})
    assert one.again.last_error == "busy"
    assert one.events[1]["data"].decision is one.decision


def test_a_report_names_its_token_and_a_callback_does_not():
    assert made(GOOD).events[0]["token"] == "t1"
    assert "token" not in made(GOOD, how="callback", of=item(state="accepted")).events[0]


def test_usage_is_recorded_and_the_time_is_measured():
    one = made(Outcome("succeeded", 1, usage=Usage(cost_usd=0.5, tokens=3)))
    assert one.events[0]["data"].usage == UsageRecord(cost_usd=0.5, tokens=3)
    assert one.events[0]["data"].seconds == 2.0


def test_an_item_of_a_fan_out_that_waits_gives_up_its_place_where_places_are_few():
    few = made(BUSY, of=item(item_no=0), fan=fan_out())
    many = made(BUSY, of=item(item_no=0), fan=fan_out(parallelism=None))
    assert few.again is not None
    assert many.again is not None
    assert (few.again.placed, many.again.placed) == (False, None)


@pytest.mark.parametrize(("failed", "tolerated"), [(0, True), (1, False)])
def test_a_failed_item_says_whether_it_is_tolerated(failed, tolerated):
    one = made(GONE, of=item(item_no=0), fan=fan_out(failed=failed))
    assert one.events[-1]["data"].tolerated is tolerated
    assert one.item_result is not None
    assert (one.item_result.state, one.item_result.attempts) == ("failed", 1)


@pytest.mark.parametrize(
    ("outcome", "lost", "expected"),
    [
        (GOOD, None, "sound"),
        (BUSY, None, "sound"),
        (Outcome("failed", facts=Facts(exception="builtins.RuntimeError")), None, "failed"),
        (Outcome("failed", facts=Facts(failure_class="worker_lost")), Loss("w1", 7, NOW, None, 5), "lost"),
    ],
)
def test_what_an_attempt_says_of_its_worker(outcome, lost, expected):
    how: How = "lease_expired" if lost is not None else "reported"
    one = made(outcome, how=how, lost=lost)
    assert one.run is not None
    assert one.run.outcome == expected


def test_an_item_that_costs_its_third_worker_the_lease_is_held():
    lost = Outcome("failed", facts=Facts(failure_class="worker_lost", reason="worker_heartbeat_stale"))
    ledger = encode(Ledger(exempted=2, by_class={"worker_lost": 2}, lost_by=("w2", "w3")))
    one = made(lost, of=item(ledger=ledger, attempt=3), how="lease_expired", lost=Loss("w1", 7, NOW, None, 9))
    assert (one.decision.verdict, types(one)) == ("hold", ["lease_expired", "retry_held"])
    assert one.again.expires_at == NOW + timedelta(days=1)
    assert one.poison


def test_a_child_that_nobody_waits_for_any_more_is_named():
    late = Outcome("failed", facts=Facts(failure_class="timeout", reason="attempt_timeout"))
    waiting = item(state="accepted", awaiting="child", child=17, worker=None)
    assert made(late, of=waiting, how="timed_out").abandoned_child == 17


def test_a_transition_that_the_table_does_not_have_is_refused():
    with pytest.raises(IllegalTransition, match="item: cancelled -> succeeded"):
        made(GOOD, of=item(state="cancelled"))
