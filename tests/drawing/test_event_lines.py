"""Tests the words for durations, the order of events, and the reasons for which there is no retry."""

from __future__ import annotations

import io
from typing import Any

import pytest
from msgspec import to_builtins
from rich.console import Console
from support.recorded.written_events import an_event

from tenax.cli.render.timeline import render_execution
from tenax.drawing.event_lines import EventWording, duration, events_in_order, why_held, why_not
from tenax.model.execution_views import Event
from tenax.model.state.execution import fold
from tenax.policy.retry.rules import RULES


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.275819, "276ms"), (0.0123456, "12.3ms"), (1.23456, "1.23s"), (12.3456, "12.3s"), (0.9999, "1s"),
     (59.96, "1m"), (125.4, "2m 5s"), (0, "0s"), (0.05, "50ms")],
)  # fmt: skip
def test_durations_for_people(seconds, words):
    assert duration(seconds) == words


def test_every_rule_that_ends_in_a_failure_has_its_few_words():
    ending = {name for name, meaning in RULES.items() if meaning.endswith((": fail", "; not retried: fail"))}
    assert {name for name in ending if why_not(name) == name} == set()
    assert why_not("attempts_exhausted", 1) == "the limit is 1 attempt"
    assert why_not(None) == ""


def _event(seq: int, kind: str, at: str = "2026-01-01T00:00:00Z", **more: Any) -> Event:
    return an_event(seq, type=kind, at=at, step="s", **more)


def test_the_events_of_one_answer_are_told_in_the_order_of_their_times():
    late, early, whole = (
        _event(1, "step_enqueued", "2026-01-01T00:00:01.5Z"),
        _event(2, "step_enqueued", "2026-01-01T00:00:01.25Z"),
        _event(3, "step_enqueued", "2026-01-01T00:00:01Z"),
    )
    assert [e.seq for e in events_in_order([late, early, whole])] == [3, 2, 1]
    assert [e.seq for e in events_in_order([_event(2, "a"), _event(1, "b")])] == [1, 2]


def test_handed_back_in_words():
    released = _event(1, "lease_released", attempt=1, data={"reason": "draining", "worker": "w"})
    assert EventWording().words(released) == "attempt 1 was handed back, uncounted (its worker is stopping)"


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        ("retry_held", {"decision": {"rule": "poison", "after": {"counted": 3, "lost_by": ["a", "b"]}}},
         "the retry is held back: it has cost 2 workers their lease (a, b)"),
        ("retry_held", {"decision": {"rule": "hold", "after": {"counted": 1}}},
         "the retry is held back: the fleet's controls keep it back"),
        ("compensation_retry", {"held": True, "decision": {"rule": "poison", "after": {"counted": 1}}},
         "compensation: the retry is held back: it has cost several workers their lease"),
        ("retry_released", {"actor": "ops", "reason": "fixed"}, "released from its hold by ops: fixed"),
        ("retry_released", {}, "released from its hold"),
        ("action_snoozed", {"failure": {"class": "transient", "reason": "snooze_limit", "message": "again"}},
         "attempt 1 failed: transient (snooze_limit): again"),
        ("action_snoozed", {}, "attempt 1 asked to be run later (not counted)"),
    ],
)  # fmt: skip
def test_holds_in_words(kind, data, words):
    assert EventWording().words(_event(1, kind, attempt=1, data=data)) == words


def test_every_rule_that_holds_has_its_few_words():
    holding = {name for name, meaning in RULES.items() if ": hold" in meaning}
    assert holding == {"poison", "hold"}
    assert all(why_held(name) != name for name in holding)


def _execution() -> dict[str, Any]:
    failure = {
        "class": "transient",
        "reason": "http_503",
        "message": "503 Service Unavailable, " + "so " * 30,
    }
    decision = {"verdict": "fail", "rule": "attempts_exhausted", "after": {"counted": 1}, "max_attempts": 1}
    times = [f"2026-01-01T00:00:0{n}.275819Z" for n in range(4)]
    started = {"retry": {"attempt": 1, "max_attempts": 1}, "worker": "w"}
    events = [
        _event(1, "step_enqueued", times[0]),
        _event(2, "action_started", times[1], attempt=1, data=started),
        _event(3, "action_error", times[2], attempt=1, data={"failure": failure}),
        _event(
            4, "step_failed_terminal", times[2], attempt=1, data={"failure": failure, "decision": decision}
        ),
    ]
    steps = {name: to_builtins(step.shown()) for name, step in fold(events).steps.items()}
    return {
        "id": 1, "status": "failed", "workflow": "w", "version": None, "input": {}, "result": None,
        "failure": failure | {"step": "s"}, "key": None, "retry_of": None, "original_execution": None,
        "created_at": times[0], "deadline_at": None, "finished_at": times[3], "now": times[3], "steps": steps,
    }  # fmt: skip


@pytest.mark.parametrize("width", [40, 80, 300])
def test_the_timeline_at_any_width(width):
    file = io.StringIO()
    Console(file=file, width=width, markup=False, highlight=False).print(render_execution(_execution()))
    lines = [line.rstrip() for line in file.getvalue().splitlines()]
    assert max(map(len, lines)) <= width
    timeline = lines[lines.index("") + 1 :]
    if width == 300:
        assert timeline[0].split() == ["step", "status", "attempt", "start", "took", "outcome", "then"]
        return
    assert timeline[0] == "s  failed, attempt 1 of 1"
    if width == 80:
        assert timeline[1] == "  1  +1.000s  1s  failed  no retry: the limit is 1 attempt"
    assert any(line.startswith("     transient (http_503): 503") for line in timeline), timeline
