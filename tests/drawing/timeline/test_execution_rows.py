"""An execution is described as rows: a bar for each attempt, and bars for the waits between them."""

from datetime import datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.drawings.executions import (
    BEGAN,
    attempt,
    child,
    compensation,
    counts,
    execution,
    operator,
    step,
    work,
)

from tenax.drawing.figures.heat_strip import heat_cells
from tenax.drawing.links import Target
from tenax.drawing.timeline.bars import bars_of
from tenax.drawing.timeline.execution_rows import MAX_BARS_IN_ROW, DrawnFanOut, timeline_of


def row_of(*attempts, now=100.0, ended=None, **more):
    return timeline_of(execution({"a": step(*attempts, **more)}, now=now, ended=ended)).rows[0]


def spans(row):
    return [(bar.kind, bar.tone, bar.start, bar.end) for bar in row.bars]


def test_queue_attempts_and_backoff_follow_each_other():
    row = row_of(
        attempt(1, 0.5, 1.0, failure="transient:http_503", again=3.0),
        attempt(2, 3.5, 5.0, failure="timeout", again=9.0),
        attempt(3, 9.0, 10.0),
    )
    assert spans(row) == [
        ("queued", "queued", 0.0, 0.5),
        ("attempt", "transient", 0.5, 1.0),
        ("backoff", "backoff", 1.0, 3.0),
        ("queued", "queued", 3.0, 3.5),
        ("attempt", "timeout", 3.5, 5.0),
        ("backoff", "backoff", 5.0, 9.0),
        ("attempt", "success", 9.0, 10.0),
    ]
    assert (
        row.bars[1].words == "attempt 1: transient (http_503), 500ms on worker-1: it was transient:http_503"
    )
    assert row.bars[1].target == Target(step="a", attempt=1)
    assert row.detail == "completed, attempt 3 of 5"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (attempt(1, 1, 2, failure="worker_lost", outcome="lost", again=9), ("attempt", "worker_lost")),
        (attempt(1, 1, 2, outcome="polled"), ("attempt", "polled")),
        (attempt(1, 1, 2, outcome="snoozed"), ("attempt", "snoozed")),
        (attempt(1, 1, 2, outcome="released"), ("attempt", "released")),
        (attempt(1, 1, 2, outcome="superseded"), ("attempt", "cancelled")),
        (attempt(1, 1, 2, failure="queue_timeout", outcome="expired"), ("attempt", "queue_timeout")),
        (attempt(1, 1, 2, waiting={"for": "sleep"}), ("external", "success")),
        (
            attempt(1, 1, outcome="running", waiting={"for": "signal", "signal": "go"}),
            ("external", "running"),
        ),
        (attempt(1, 1, outcome="accepted", waiting={"for": "callback"}), ("external", "running")),
        (attempt(1, 1, 2, failure="timeout", waiting={"for": "callback"}), ("attempt", "timeout")),
    ],
)
def test_the_tone_of_an_attempt(given, expected):
    [_, bar] = row_of(given).bars
    assert (bar.kind, bar.tone, bar.start) == (*expected, 1.0)


@pytest.mark.parametrize(
    ("last", "more", "expected", "due", "detail"),
    [
        (
            attempt(1, 0, 90, failure="timeout", again=130), {"status": "retrying", "due": 130},
            [("backoff", "backoff", 90.0, 130.0)], 130.0, "retry in 30s, attempt 1 of 5",
        ),
        (
            attempt(1, 0, 90, failure="timeout", again=95), {"status": "retrying", "due": 95},
            [("backoff", "backoff", 90.0, 95.0), ("queued", "queued", 95.0, 100.0)], 95.0, "retry is due, attempt 1 of 5",
        ),
        (
            attempt(1, 0, 90, failure="budget", verdict="hold", rule="tree_budget"), {"status": "held"},
            [("held", "held", 90.0, 100.0)], None, "held, attempt 1 of 5",
        ),
        (
            attempt(1, 0, 90, outcome="released"), {"status": "queued"},
            [("queued", "queued", 90.0, 100.0)], None, "queued, attempt 1 of 5",
        ),
    ],
)  # fmt: skip
def test_what_follows_the_last_attempt(last, more, expected, due, detail):
    row = row_of(last, **more)
    assert spans(row)[1:] == expected
    assert (row.due, row.detail) == (due, detail)


def test_a_retry_that_an_operator_asked_for_cuts_its_backoff_short():
    row = row_of(attempt(1, 0, 1, failure="timeout", again=60), attempt(2, 10, 11))
    assert spans(row)[1] == ("backoff", "backoff", 1.0, 10.0)
    assert row.bars[1].words == "backoff after attempt 1, cut short by an operator, 9s"


def test_a_hold_lasts_until_the_next_attempt():
    row = row_of(attempt(1, 0, 1, failure="timeout", verdict="hold", rule="poison"), attempt(2, 10, 11))
    assert (spans(row)[1], row.bars[1].words) == (("held", "held", 1.0, 10.0), "held: poison, 9s")


def test_a_late_success_has_a_bar_of_its_own():
    row = row_of(
        attempt(1, 0, 10, failure="timeout", again=20),
        attempt(2, 20, 30, outcome="superseded"),
        attempt(1, None, 30, via="callback"),
    )
    assert spans(row)[-2:] == [("attempt", "cancelled", 20.0, 30.0), ("attempt", "success", 30.0, 30.0)]


def test_a_running_attempt_ends_now():
    assert spans(row_of(attempt(1, 1, outcome="running"), status="running"))[1] == (
        "attempt",
        "running",
        1.0,
        100.0,
    )


def test_an_attempt_that_expired_in_the_queue_is_where_it_ended():
    row = row_of(attempt(1, None, 20, failure="queue_timeout", outcome="expired"))
    assert spans(row) == [("queued", "queued", 0.0, 20.0), ("attempt", "queue_timeout", 20.0, 20.0)]


def test_a_reset_keeps_the_bars_before_it():
    row = row_of(attempt(1, 1, 2, failure="timeout"), attempt(2, 50, 51), enqueued=40)
    assert [bar.start for bar in row.bars if bar.attempts] == [1.0, 50.0]


def test_five_thousand_attempts_are_few_bars():
    many = [attempt(n, n * 10, n * 10 + 1, outcome="polled", again=n * 10 + 9) for n in range(1, 5001)]
    bars = row_of(*many, now=60_000, ended=60_000).bars
    together = [bar for bar in bars if bar.attempts > 1]
    assert sum(bar.attempts for bar in bars) == 5000
    assert (len(together), sum(bar.attempts > 0 for bar in bars)) == (1, MAX_BARS_IN_ROW)
    assert together[0].words == f"{together[0].attempts:,} attempts: {together[0].attempts:,} polled"
    assert all(before.end <= after.start for before, after in pairwise(bars))


def test_children_compensations_and_items_are_below_their_step():
    items = counts(succeeded=8, failed=2)
    steps = {
        "fan": step(items=items, undone=compensation(items={"total": 8, "completed": 8})),
        "call": step(attempt(1, 5, 29, waiting={"for": "child"}, child=7), children=[child(7, "failed")]),
        "undone": step(attempt(1, 1, 2), undone=compensation(attempt(1, 31, 33), enqueued=30)),
    }
    cells = heat_cells(10, [(n, "failed" if n in (3, 4) else "succeeded") for n in range(10)])
    failed = work(attempt(1, 1, 2, failure="logical"), status="failed")
    rows = timeline_of(execution(steps, now=60), fan_outs={"fan": DrawnFanOut(cells, {3: failed})}).rows
    assert [(row.level, row.name, row.detail) for row in rows] == [
        (0, "fan", "8 of 10, 2 failed"),
        (1, "[3]", "failed, attempt 1 of 5"),
        (1, "compensation", "8 of 8"),
        (0, "call", "completed, attempt 1 of 5"),
        (1, "child 7", "failed"),
        (0, "undone", "completed, attempt 1 of 5"),
        (1, "compensation", "completed, attempt 1 of 5"),
    ]
    assert (rows[0].counts, rows[0].cells) == (items, cells)
    assert rows[1].bars[-1].target == Target(step="fan", item=3, attempt=1)
    assert rows[4].bars[0].target == Target(step="call", attempt=1, child=7)
    assert spans(rows[4]) == [("external", "failed", 5.0, 29.0)]
    assert rows[6].bars[-1].target == Target(step="undone", attempt=1, compensation=True)


def test_operators_actions_are_marks():
    drawn = timeline_of(execution({"a": step()}, now=60), events=[operator(12.5, "retry_now", "a", seq=7)])
    [mark] = drawn.marks
    assert (mark.at, mark.words) == (12.5, "ada: retry_now of a (the service is back)")
    assert mark.target == Target(step="a", seq=7)


def test_a_large_execution_keeps_the_rows_that_matter():
    steps = {f"s{n}": step(status="completed") for n in range(990)}
    steps |= {f"t{n}": step(attempt(1, 1, 2, failure="logical"), status="failed") for n in range(10)}
    drawn = timeline_of(execution(steps, now=60), max_rows=50)
    assert [row.name for row in drawn.rows] == [f"s{n}" for n in range(40)] + [f"t{n}" for n in range(10)]
    assert drawn.more == {"completed": 950}


def test_rows_of_steps_go_before_rows_of_items():
    failed = {n: work(attempt(1, 1, 2, failure="logical"), status="failed") for n in range(20)}
    steps = {f"s{n}": step(items=counts(failed=20)) for n in range(5)}
    rows = timeline_of(execution(steps, now=9), fan_outs={"s0": DrawnFanOut(items=failed)}, max_rows=10).rows
    assert [row.level for row in rows] == [0, 1, 1, 1, 1, 1, 0, 0, 0, 0]


@st.composite
def some_attempts(draw):
    moment, found = draw(st.floats(0, 5)), []
    for number in range(1, draw(st.integers(0, 8)) + 1):
        start = moment + draw(st.floats(0, 5))
        end = start + draw(st.floats(0, 5))
        again = draw(st.none() | st.floats(0, 1e5).map(lambda delay, end=end: end + delay))
        found.append(
            attempt(number, start, end, failure=draw(st.sampled_from(["transient", "timeout"])), again=again)
        )
        moment = end if again is None else again + draw(st.floats(-1, 5))
        moment = max(moment, end)
    return found


def seconds(time):
    return None if time is None else (datetime.fromisoformat(time) - BEGAN).total_seconds()


@given(some_attempts(), st.integers(2, 9), st.sampled_from(["queued", "held", "retrying", "failed"]))
def test_bars_of_any_attempts_are_in_order_without_holes_and_none_is_lost(attempts, limit, status):
    given = work(*attempts, status=status, due=2e6)
    bars = bars_of(given, Target(step="a"), seconds, now=2e6, limit=limit)
    assert sum(bar.attempts for bar in bars) == len(attempts)
    assert sum(bar.attempts > 0 for bar in bars) <= limit
    assert all(bar.start <= bar.end <= 2e6 for bar in bars)
    assert all(before.end == after.start for before, after in pairwise(bars))
