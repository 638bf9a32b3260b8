"""Tests how workers are shown and described, from answers of the engine."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rich.console import Console
from support.recorded.written_events import an_event

from tenax.cli.flags import TargetFlags
from tenax.cli.render.operators.fleet_table import change_key, fleet_table
from tenax.cli.render.operators.worker_page import render_worker
from tenax.drawing.event_lines import EventWording
from tenax.drawing.fleet_words import fleet_event_words, health_words

AT = "2026-01-01T00:00:00Z"


def worker(name: str = "w", **more: Any) -> dict[str, Any]:
    return {
        "name": name, "state": "active", "state_reason": None, "state_actor": None, "state_since": None,
        "health": "healthy", "health_column": None, "health_since": AT, "version": "3", "runtimes": ["python", "http"],
        "queues": ["default"], "labels": {}, "slots": 10, "serves": None, "queue_depth": 0, "consecutive_failures": 0,
        "failure_rate": None, "runs": 0, "failures": 0, "losses": 0, "probe_at": None, "registered_at": AT,
        "last_heartbeat": "2026-01-01T00:01:00Z", "heartbeat_age": 4.2, "reported": None,
        "columns": [], "leases": [], "leases_total": 0, "events": [],
    } | more  # fmt: skip


def ill(column: str, health: str = "unhealthy", **more: Any) -> dict[str, Any]:
    return worker(health=health, health_column=column, **more)


def drawn(shown: Any, width: int = 300) -> list[str]:
    file = io.StringIO()
    Console(file=file, width=width, markup=False, highlight=False).print(shown)
    return [line.rstrip() for line in file.getvalue().splitlines()]


def cells(line: str) -> list[str]:
    return re.split(r"  +", line.strip())


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (worker(), "healthy"),
        (ill("heartbeat_age", heartbeat_age=95.4), "unhealthy: silent for 1m 35s"),
        (ill("consecutive_failures", consecutive_failures=10), "unhealthy: 10 failures in a row"),
        (ill("queue_depth", "degraded", queue_depth=60), "degraded: 60 items in hand"),
        (ill("failure_rate", runs=40, failures=30, failure_rate=0.75), "unhealthy: 30 of 40 runs failed"),
        (ill("reported_status"), "unhealthy: by its own report (its event loop is late: overload_lag)"),
        (
            ill("reported_status", reported={"overdue": 10, "queue_depth": 10}),
            "unhealthy: by its own report (10 threads that timed out hold all its slots)",
        ),
        (
            ill("reported_status", reported={"queue_depth": 120}),
            "unhealthy: by its own report (120 items in hand)",
        ),
        (ill("queue_depth", "degraded", slots=1, queue_depth=1), "degraded: 1 item in hand"),
        (ill("recovering", "degraded"), "degraded: recovering"),
    ],
)
def test_health_names_the_column_that_decided(one, words):
    assert health_words(one) == words


def test_labels_have_a_column_where_there_are_any():
    lines = drawn(fleet_table([worker("a", labels={"zone": "a", "gpu": "yes"}), worker("b")]))
    assert cells(lines[0])[5] == "labels"
    assert cells(lines[1])[5] == "gpu=yes, zone=a"


def test_a_drain_by_the_server_is_told_from_that_of_a_person():
    by_server = worker("a", state="draining", state_actor="tenax:server", state_reason="lost 5 times")
    by_person = worker("b", state="draining", state_actor="me")
    lines = drawn(fleet_table([by_server, by_person]))
    assert cells(lines[1])[1] == "drained by the server"
    assert cells(lines[2])[1] == "draining"
    assert drawn(render_worker(by_server))[0].startswith("worker a: drained by the server, ")


def test_one_is_not_many():
    said = {
        "status": "healthy",
        "total_executions": 1,
        "queue_depth": 1,
        "consecutive_failures": 1,
        "overdue": 1,
    }
    text = "\n".join(drawn(render_worker(worker(reported=said))))
    assert "1 run in its life, 0 of them failed" in text
    assert "1 failure in a row, 1 item in hand, 1 slot held by threads that outlived their attempts" in text


def test_a_report_that_is_not_heard_says_why():
    column = {"column": "reported_status", "value": None, "degraded_at": "degraded", "unhealthy_at": "unhealthy", "health": "healthy"}  # fmt: skip
    said = {"status": "degraded", "consecutive_failures": 4}
    text = "\n".join(drawn(render_worker(worker(columns=[column], reported=said))))
    assert "(while it counts so many failures in a row, the server judges these and not its status)" in text
    assert "those are judged" not in "\n".join(
        drawn(render_worker(worker(columns=[column], reported={"status": "healthy"})))
    )


def test_a_life_that_displaced_another_says_so():
    data = {"slots": 1, "queues": ["default"], "took_over": True}
    assert fleet_event_words("worker_registered", data) == (
        "registered with 1 slot for default, and replaced an earlier process that had not ended"
    )


def test_the_table_of_workers():
    lines = drawn(
        fleet_table(
            [
                worker(
                    "a", queues=["default", "gpu"], queue_depth=7, runs=40, failures=3, failure_rate=0.075
                ),
                ill(
                    "consecutive_failures", name="b", consecutive_failures=12, state="draining", version=None
                ),
                worker("c", state="gone", heartbeat_age=7200.0),
            ]
        )
    )
    assert " ".join(cells(lines[0])) == (
        "name state health queues runtimes slots busy failures rate heartbeat version"
    )
    assert cells(lines[1]) == ["a", "active", "healthy", "default, gpu", "python, http", "10", "7", "3", "8%", "4s", "3"]  # fmt: skip
    assert cells(lines[2])[:3] == ["b", "draining", "unhealthy: 12 failures in a row"]
    assert cells(lines[2])[-3:] == ["-", "4s", "-"]
    assert cells(lines[3])[:3] == ["c", "gone", "-"]


@pytest.mark.parametrize(
    ("width", "left_out"), [(90, "version, runtimes, queues"), (80, "version, runtimes, queues, slots, rate")]
)
def test_a_narrow_terminal_gets_fewer_columns(width, left_out):
    found = [ill("consecutive_failures", name="a-worker", consecutive_failures=12)]
    lines = drawn(fleet_table(found), width)
    assert max(map(len, lines)) <= width
    assert "unhealthy: 12 failures in a row" in lines[1], "nothing of what matters is cut"
    assert lines[-1] == f"left out, for lack of room: {left_out}"


def test_where_nothing_more_can_be_left_out_lines_are_broken():
    found = [ill("failure_rate", name="a-host-with-a-long-name-8520-1", failures=1_000, runs=1_100)]
    lines = drawn(fleet_table(found), 60)
    assert max(map(len, lines)) <= 60
    assert not any("…" in line for line in lines[1:]), "no name and no reason is cut short"


def test_what_is_worth_printing_again():
    before = [worker("a"), ill("heartbeat_age", name="b", heartbeat_age=31.0)]
    older = [{**one, "heartbeat_age": one["heartbeat_age"] + 1} for one in before]
    assert change_key(before) == change_key(older), "a heartbeat that grows older is no news"
    for change in ({"state": "paused"}, {"queue_depth": 1}, {"health": "degraded"}, {"version": "4"}):
        assert change_key(before) != change_key([worker("a", **change), before[1]])
    assert change_key(before) != change_key(before[:1])


COLUMNS = [
    {"column": "heartbeat_age", "value": 4.2, "degraded_at": None, "unhealthy_at": 30.0, "health": "healthy"},
    {"column": "consecutive_failures", "value": 12, "degraded_at": 3, "unhealthy_at": 10, "health": "unhealthy"},
    {"column": "queue_depth", "value": 2, "degraded_at": 50, "unhealthy_at": 100, "health": "healthy"},
    {"column": "failure_rate", "value": None, "degraded_at": 0.3, "unhealthy_at": 0.7, "health": "healthy"},
    {"column": "reported_status", "value": "healthy", "degraded_at": "degraded", "unhealthy_at": "unhealthy", "health": "healthy"},
    {"column": "recovering", "value": False, "degraded_at": True, "unhealthy_at": None, "health": "healthy"},
]  # fmt: skip
REPORTED = {"status": "healthy", "total_executions": 1234, "failed_executions": 5, "average_execution_time_ms": 12.4,
            "consecutive_failures": 1, "queue_depth": 2}  # fmt: skip


def test_the_page_of_a_worker():
    lease = {"execution_id": 12, "step": "fetch", "item": 3, "attempt": 2, "started_at": AT, "lease_until": "2026-01-01T00:01:30.5Z"}  # fmt: skip
    event = {
        "at": AT,
        "type": "worker_registered",
        "data": {"slots": 10, "queues": ["default"], "version": "3"},
    }
    one = ill(
        "consecutive_failures", consecutive_failures=12, columns=COLUMNS, labels={"zone": "a"}, losses=2, reported=REPORTED,
        probe_at="2026-01-01T00:01:24.2Z", leases=[lease], leases_total=250, events=[event],
    )  # fmt: skip
    text = drawn(render_worker(one, TargetFlags(server="http://x")))
    assert text[0] == "worker w: active, unhealthy: 12 failures in a row (for 1m 4s)"
    assert text[1] == (
        "  gets one item in 20s, to see whether it has recovered; "
        "give it work at once: tenax workers resume w --server http://x"
    )
    assert text[2:4] == ["  version 3, 10 slots", "  queues default; runtimes python, http; labels zone=a"]
    assert text[6] == "  was lost with work in its hands 2 times lately"
    rows = {cells(line)[0]: cells(line)[1:] for line in text[9:15]}
    assert cells(text[8]) == ["health", "value", "degraded from", "unhealthy from", "verdict"]
    assert rows["heartbeat age"] == ["4.2s", "-", "30s", "healthy"]
    assert rows["failures in a row"] == ["12", "3", "10", "unhealthy"]
    assert rows["failure rate"] == ["-", "30%", "70%", "healthy"]
    assert rows["its own report"] == ["healthy", "degraded", "unhealthy", "healthy"]
    assert rows["recovering"] == ["no", "yes", "-", "healthy"]
    assert text[15].startswith(
        "it reports: healthy, 1,234 runs in its life, 5 of them failed, 12ms on average;"
    )
    assert text[17] == "holds 250, of them 1:"
    assert cells(text[19]) == ["12", "fetch[3]", "2", "1m 4s", "2026-01-01 00:01:30"]
    assert cells(text[-1])[1:] == ["worker_registered", "registered with 10 slots for default, version 3"]


@pytest.mark.parametrize(
    ("more", "lines"),
    [
        ({"state": "paused", "state_actor": "ops", "state_since": AT, "state_reason": "bad disk"},
         [f"paused by ops at {AT}: bad disk", "give it work again: tenax workers resume w"]),
        ({"state": "draining", "state_actor": "ops", "state_since": AT},
         [f"drained by ops at {AT}", "its process ends when it has finished its running attempts"]),
        ({"state": "draining", "state_actor": "tenax:server", "state_since": AT, "state_reason": "lost 5 times"},
         [f"drained by the server at {AT}: lost 5 times", "give it work again: tenax workers resume w"]),
        ({"health": "unhealthy", "health_column": "heartbeat_age"}, ["gets no work until it sends a heartbeat again"]),
        ({"health": "unhealthy", "health_column": "queue_depth"}, ["gets no work until it has reported some of its items"]),
        ({"health": "unhealthy", "health_column": "failure_rate", "probe_at": AT}, ["gets the next item it is able to run, to see"]),
        ({"health": "degraded", "health_column": "consecutive_failures", "columns": COLUMNS},
         ["still gets work, after the other workers: too few of them are able to do it"]),
    ],
)  # fmt: skip
def test_why_a_worker_gets_no_work_and_what_changes_that(more, lines):
    text = drawn(render_worker(worker(**more)))
    for expected, line in zip(lines, text[1:], strict=False):
        assert line.strip().startswith(expected)


def test_a_worker_that_is_gone_has_no_health():
    text = drawn(render_worker(worker(state="gone", columns=COLUMNS)))
    assert text[0] == "worker w: gone"
    assert not any("unhealthy from" in line for line in text)


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        ("worker_registered", {"slots": 2, "queues": ["a", "b"]}, "registered with 2 slots for a, b"),
        ("worker_lost", {"last_heartbeat": AT}, f"lost; it was last heard of at {AT}"),
        ("worker_health_changed",
         {"from": "degraded", "to": "unhealthy", "column": "consecutive_failures", "value": 10, "probe_at": AT},
         f"degraded -> unhealthy: 10 failures in a row; its probe comes at {AT}"),
        ("worker_health_changed",
         {"from": "healthy", "to": "degraded", "column": "failure_rate", "value": 0.8, "floored": True},
         "healthy -> degraded: 80% of its runs failed; not worse, since too few other workers are able"),
        ("worker_health_changed", {"from": "degraded", "to": "healthy", "column": "consecutive_failures", "value": 0},
         "degraded -> healthy"),
        ("worker_drained", {"reason": "lost 5 times", "losses": 5}, "drained by the server: lost 5 times"),
        ("operator_action", {"action": "worker_pause", "actor": "ops", "reason": "why"}, "ops paused it: why"),
        ("operator_action", {"action": "cancel", "actor": "ops"}, None),
        ("step_completed", {}, None),
    ],
)  # fmt: skip
def test_what_happened_to_a_worker(kind, data, words):
    assert fleet_event_words(kind, data) == words
    if words is not None:
        assert EventWording().words(an_event(1, type=kind, at=AT, data=data)) == words
