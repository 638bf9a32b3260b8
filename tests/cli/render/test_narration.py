"""Tests which lines `tenax run` and `show --follow` print, and which they leave out."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rich.console import Console
from support.recorded.written_events import (
    FAILURE,
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

from tenax.cli.render.event_lines import EventWording
from tenax.cli.render.live import PlainView
from tenax.cli.render.live_table import LiveView
from tenax.cli.render.narration import Narrator
from tenax.model.events import EVENT_TYPES

EXECUTION = {
    "id": 7, "workflow": "w", "created_at": "2026-01-01T00:00:00Z", "now": "2026-01-01T00:00:00Z",
    "steps": {"s": {"max_attempts": 3}},
}  # fmt: skip


def narrated(*written: str | Written) -> list[tuple[str, str]]:
    narrator = Narrator(7, ["s"])
    return [line for event in told(*written) for line in narrator.lines(event)]


def large(items: int, *, lost: int = 0, once: int = 0) -> list[Written]:
    """A fan-out of which the first ones fail for good, and the next ones once."""
    written = [fan_out(items, 50)]
    for n in range(items):
        written.append(started(1, n))
        if n < lost:
            written += [failed(1, n), item_over(n, "item_failed", failure=FAILURE, tolerated=True)]
            continue
        if n < lost + once:
            written += [failed(1, n), retried(1, n), started(2, n)]
        written += [succeeded(1, n), item_over(n)]
    return written


def test_a_small_fan_out_is_told_item_by_item():
    lines = narrated(*large(3, lost=1, once=1), ("step_completed", {}))
    assert lines[:3] == [
        ("s", "enqueued: 3 items, 50 at a time"),
        ("s[0]", "attempt 1 of 3 started on w"),
        ("s[0]", "attempt 1 failed: transient (http_503): 503"),
    ]
    assert ("s[0]", "failed for good, tolerated: transient (http_503): 503") in lines
    assert ("s[1]", "retry in 2s") in lines
    assert lines[-1] == ("s", "completed")


def test_a_large_fan_out_is_summed_up_and_what_failed_is_named():
    lines = narrated(*large(10_000, lost=30, once=500), ("step_completed", {}))
    assert len(lines) < 50
    named = [whose for whose, words in lines if words.startswith("failed for good")]
    assert named == [f"s[{n}]" for n in range(20)]
    assert ("s", "more have failed: tenax items 7 s --status failed") in lines
    counted = [words for whose, words in lines if whose == "s" and " items done" in words]
    assert counted[0] == "970 of 10,000 items done, 30 failed (tolerated), 50 queued, 8,950 waiting"
    assert counted[-1] == "9,970 of 10,000 items done, 30 failed (tolerated)"
    assert len(counted) == 10


def test_the_compensations_of_a_large_fan_out_are_summed_up_too():
    undone: list[Written] = []
    for n in reversed(range(100)):
        undone += [compensated("enqueued", n), compensated("started", n, 1, worker="w"), compensated("completed", n, 1)]  # fmt: skip
    lines = narrated(*large(100), *undone)
    last = [words for _, words in lines if words.startswith("compensation:")]
    assert len(last) == 10
    assert last[-1] == "compensation: 100 of 100 items undone"


def test_a_thousand_polls_are_a_few_lines():
    written: list[str | Written] = ["step_enqueued"]
    for n in range(1, 1001):
        written += [
            started(n),
            ("action_polled", {"attempt": n, "data": {"polls": n}}),
            retried(n, counted=0),
        ]
    lines = narrated(*written, started(1001), succeeded(1001), "step_completed")
    assert len(lines) < 100
    assert any("poll 1)" in words for _, words in lines)
    assert any("poll 1000)" in words for _, words in lines)
    assert lines[-2:] == [("s", "attempt 1001 succeeded"), ("s", "completed")]


def test_a_retry_after_a_poll_that_failed_is_told():
    written: list[str | Written] = ["step_enqueued"]
    for n in range(1, 8):
        written += [
            started(n),
            ("action_polled", {"attempt": n, "data": {"polls": n}}),
            retried(n, counted=0),
        ]
    lines = narrated(*written, started(8), failed(8), retried(8))
    assert [words for _, words in lines[-2:]] == [
        "attempt 8 failed: transient (http_503): 503",
        "retry in 2s",
    ]


SAID = {
    "signal_received": ({"name": "paid", "data": {"n": 1}, "actor": "ann", "key": None}, 'signal paid was received from ann, with {"n": 1}'),
    "execution_compensated": ({"completed": 2, "failed": 1}, "compensations are over: 2 completed, 1 failed"),
    "execution_compensating": ({"failure": {**FAILURE, "step": "b"}}, "what was done is undone, because the execution failed in step b: transient (http_503): 503"),
    "compensation_enqueued": ({}, "compensation: enqueued"),
    "compensation_completed": ({"attempts": 1}, "compensation: completed"),
    "compensation_error": ({"failure": FAILURE}, "compensation: attempt 1 failed: transient (http_503): 503"),
    "lease_released": ({"compensation": True, "reason": "draining"}, "compensation: attempt 1 was handed back, uncounted (its worker is stopping)"),
    "step_failed_terminal": ({"failure": FAILURE, "on_failure": "step"}, "failed for good: transient (http_503): 503 (on_failure: a fallback step stands in for it)"),
    "step_completed": ({"on_failure": "value"}, "completed (on_failure: a value stands in for it)"),
    "action_accepted": ({"deadline_at": "2026-01-02T00:00:00Z"}, "attempt 1 was accepted by its callee; it calls back by 2026-01-02T00:00:00Z"),
    "action_polled": ({"polls": 4}, "attempt 1: not yet done (not counted; poll 4)"),
    "item_cancelled": ({"was": "waiting", "count": 2}, "2 items cancelled before they began"),
    "operator_action": ({"action": "cancel", "actor": "ann", "because_of": 5, "reason": "x"}, "ann asked for cancel of execution 5: x"),
    "step_unreachable": ({"cause": "a"}, "unreachable because of a"),
}  # fmt: skip


@pytest.mark.parametrize("kind", SAID)
def test_an_event_in_words(kind):
    data, words = SAID[kind]
    [event] = told((kind, {"attempt": 1, "data": data}))
    assert EventWording().words(event) == words


WAITS = [
    ({"for": "sleep", "until": "2026-01-31T02:10:00.5Z"}, None, "sleeping until 2026-01-31 02:10:00"),
    (
        {"for": "signal", "signal": "paid", "deadline_at": "2026-01-31T02:10:00Z"},
        None,
        "waiting for signal paid, until 2026-01-31 02:10:00",
    ),
    ({"for": "approval"}, None, "waiting for an approval"),
    ({"for": "child"}, 12, "child execution 12"),
]


@pytest.mark.parametrize(("waiting", "child", "words"), WAITS)
def test_what_an_attempt_waits_for(waiting, child, words):
    [event] = told(started(1, worker=None, waiting=waiting, child=child))
    assert EventWording().words(event) == f"attempt 1 of 3 started: {words}"


def test_who_can_be_asked_is_told_how_to_answer():
    approval = started(1, 3, worker=None, waiting={"for": "approval"})
    assert narrated(approval)[1] == ("s[3]", "tenax approve 7 s --item 3 (or reject)")
    signal = started(1, worker=None, waiting={"for": "signal", "signal": "paid"})
    assert narrated(signal)[1] == ("s", "send it: tenax signal 7 paid")
    assert len(narrated(started(1, worker=None, waiting={"for": "sleep", "until": "T"}))) == 1


def test_what_is_held_is_told_with_how_to_release_it():
    decision = {"rule": "poison", "after": {"counted": 1, "lost_by": ["a", "b", "c"]}}
    held = ("retry_held", {"attempt": 1, "data": {"decision": decision}})
    assert narrated("step_enqueued", started(1), ("lease_expired", {"attempt": 1}), held)[-2:] == [
        ("s", "the retry is held back: it has cost 3 workers their lease (a, b, c)"),
        ("s", "release it: tenax retry 7"),
    ]


def test_vary_is_told_with_the_attempt():
    [event] = told(started(2, vary={"entry": 1, "override": {"args": {"model": "large"}}}))
    assert EventWording().words(event).endswith('started on w (vary 1: {"args": {"model": "large"}})')


@pytest.mark.parametrize("kind", EVENT_TYPES)
def test_every_type_has_its_words_even_with_nothing_in_it(kind):
    data: dict[str, Any] = {"delay_seconds": 1.0} if kind.endswith("_retry") else {}
    [event] = told((kind, {"attempt": 1, "data": data}))
    words = EventWording().words(event)
    assert words
    assert not re.search(r"[a-z]_[a-z]", words), "in words, not in names"


def printed(view: PlainView | LiveView, file: io.StringIO, *written: str | Written) -> str:
    view.begin(EXECUTION)
    for event in told(*written):
        view.event(event)
    view.close()
    return file.getvalue()


def test_lines_name_the_item():
    file = io.StringIO()
    text = printed(PlainView(Console(file=file, width=200)), file, *large(2))
    assert re.search(r"^ +\+\d+\.000s  s\[1\]  attempt 1 of 3 started on w$", text, re.MULTILINE)


def test_the_table_that_moves_shows_fan_outs_waits_and_compensations():
    file = io.StringIO()
    view = LiveView(Console(file=file, width=200, force_terminal=True, color_system=None))
    waiting = {"for": "signal", "signal": "paid"}
    text = printed(
        view,
        file,
        *large(3, lost=1),
        started(1, 5, waiting=waiting, worker=None),
        "execution_compensating",
        compensated("enqueued", 1),
    )
    assert "2 of 6 items done, 1 failed (tolerated), 1 accepted" in text
    assert "waiting for signal paid" in text
    assert "compensation" in text
    assert "0 of 1 item undone, 1 queued" in text


LOST_BY = {"verdict": "hold", "rule": "poison", "after": {"counted": 1, "lost_by": ["a", "b", "c"]}}


def held(attempt: int, item: int | None = None) -> Written:
    return "retry_held", {"attempt": attempt, "item": item, "data": {"decision": LOST_BY}}


def test_the_table_that_moves_says_what_is_held_and_how_to_release_it():
    file = io.StringIO()
    view = LiveView(Console(file=file, width=200, force_terminal=True, color_system=None))
    text = printed(view, file, started(1), held(1))
    assert "s is held: it has cost 3 workers their lease (a, b, c)" in text
    assert "release it: tenax retry 7" in text


def test_the_first_held_items_of_a_large_fan_out_are_named():
    lines = narrated(fan_out(1000, 50), *(one for n in range(30) for one in (started(1, n), held(1, n))))
    words = "the retry is held back: it has cost 3 workers their lease (a, b, c)"
    assert [whose for whose, said in lines if said == words] == [f"s[{n}]" for n in range(20)]
    assert ("s[0]", "release it: tenax retry 7") in lines
    assert ("s", "more are held: tenax items 7 s --status held") in lines


def test_a_held_compensation_says_how_to_release_it():
    lines = narrated(started(1), succeeded(1), compensated("retry", attempt=1, held=True, decision=LOST_BY))
    assert lines[-1] == ("s", "release it: tenax retry 7")
