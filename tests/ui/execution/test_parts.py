"""Parts of the pages of one execution: durations that tick, addresses, rows of attempts, and the graph of many steps."""

from __future__ import annotations

import re

import pytest
from support.drawings.executions import at, attempt, execution, step

from tenax.drawing.links import Target
from tenax.policy.diagnosis.executions import diagnose_execution
from tenax.ui.pages.execution.attempt_rows import all_rows, page_of, rows_of
from tenax.ui.pages.execution.drawings import graph_of
from tenax.ui.pages.execution.links import drawing_link
from tenax.ui.pages.execution.ticking import Piece, pieces_of

RETRYING = step(attempt(1, 0, 1, failure="transient:http_503", again=13), status="retrying", due=13)


def pieces(steps, now):
    shown = execution(steps, now=now)
    diagnosis = diagnose_execution(shown, {})
    return diagnosis.sentence, pieces_of(diagnosis.sentence, diagnosis, shown)


def test_the_time_until_a_retry_ticks():
    sentence, found = pieces({"fetch": RETRYING}, now=1.0)
    assert "in 12s" in sentence
    assert [piece for piece in found if piece.until] == [Piece("in", until=at(13))]
    assert "".join(piece.text for piece in found) == sentence.replace("in 12s", "in")


def test_the_time_since_a_start_ticks():
    running = step(attempt(1, 4), status="running")
    sentence, found = pieces({"fetch": running}, now=9.0)
    assert "for 5s" in sentence
    assert [piece for piece in found if piece.since] == [Piece("for", since=at(4))]


def test_a_duration_that_only_begins_alike_stays_text():
    shown = execution({"fetch": RETRYING}, now=1.0)
    diagnosis = diagnose_execution(shown, {})
    for sentence in ("in 12s5ms", "min 12s", "in 12seconds"):
        assert pieces_of(sentence, diagnosis, shown)[0].text == sentence


def test_what_has_ended_has_no_times():
    sentence, found = pieces({"fetch": step(attempt(1, 0, 1))}, now=20.0)
    assert found == [Piece(sentence)]


@pytest.mark.parametrize(
    ("target", "address"),
    [
        (Target(step="a"), "/executions/7/steps/a"),
        (Target(step="a", attempt=3), "/executions/7/steps/a#attempt-3"),
        (Target(step="a", item=4, attempt=2), "/executions/7/steps/a/items/4#attempt-2"),
        (Target(step="a", item=0, last_item=9), "/executions/7/steps/a/items"),
        (Target(step="a", item=10, last_item=19), "/executions/7/steps/a/items?after=9"),
        (Target(step="a", state="failed"), "/executions/7/steps/a/items?state=failed"),
        (Target(step="a", compensation=True, attempt=1), "/executions/7/steps/a#compensation"),
        (Target(step="a", attempt=1, child=9), "/executions/9"),
        (Target(seq=5), "/executions/7/events"),
        (Target(), None),
    ],
)
def test_parts_of_drawings_lead_to_pages(target, address):
    assert drawing_link(7)(target) == address


def test_rows_tell_how_long_an_attempt_was_ready():
    work = step(attempt(1, 2, 3, failure="transient", again=10), attempt(2, 12, 15), enqueued=0)
    rows = list(rows_of(work, 7, "fetch"))
    assert [(row.queue_wait, row.took) for row in rows] == [(2.0, 1.0), (2.0, 3.0)]


def test_attempts_of_all_steps_are_in_the_order_of_their_starts():
    steps = {
        "a": step(attempt(1, 0, 1, failure="transient", again=5), attempt(2, 5, 6)),
        "b": step(attempt(1, 2, 3)),
    }
    rows = all_rows(execution(steps, now=10.0))
    assert [(row.step, row.attempt.attempt) for row in rows] == [("a", 1), ("b", 1), ("a", 2)]


def test_pages_of_attempts_do_not_move_when_more_come():
    rows = list(rows_of(step(*(attempt(n, n, n + 0.5) for n in range(1, 121))), 7, "a"))
    newest = page_of(rows[:100], None)
    assert (newest.rows[0].attempt.attempt, newest.older) == (100, 50)
    assert page_of(rows, newest.older).rows == page_of(rows[:100], newest.older).rows
    assert page_of(rows, 50).older is None


def test_many_steps_are_drawn_by_layer():
    chain = {f"s{n}": step(needs=(f"s{n - 100}",) if n >= 100 else (), status="pending") for n in range(1000)}
    drawn = graph_of(execution(chain, now=1.0))
    assert re.findall("layer ([0-9]+)<", drawn) == [str(n) for n in range(1, 11)]
    assert "100 steps, 100 pending" in drawn
