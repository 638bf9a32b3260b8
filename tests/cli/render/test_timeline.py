"""Tests how `tenax show` draws fan-outs, waits, polls, compensations and children, from answers of `get`."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from msgspec import to_builtins
from rich.console import Console
from support.recorded.written_events import (
    FAILURE,
    Written,
    compensated,
    failed,
    fan_out,
    retried,
    started,
    succeeded,
    told,
)

from tenax.cli.flags import DEFAULT_TARGET, TargetFlags
from tenax.cli.render.family import family_lines
from tenax.cli.render.fan_outs import counts_words
from tenax.cli.render.timeline import render_execution, render_step
from tenax.model.state.execution import fold

START, NOW = "2026-01-01T00:00:00Z", "2026-01-01T00:30:00Z"


def execution(*written: str | Written, step: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """An answer of `get`, with one step `s`."""
    state = fold(told(*written), ["s"])
    shown = to_builtins(state.steps["s"].shown())
    body = {"max_attempts": 3, **{k: v for k, v in shown.items() if v is not None}}
    steps = {"s": shown | body | {"type": "python", "needs": [], "children": []} | (step or {})}  # fmt: skip
    return {
        "id": 7, "status": state.status, "workflow": "w", "version": None, "input": {}, "result": None,
        "failure": state.failure, "key": None, "retry_of": None, "original_execution": None, "parent": None,
        "created_at": START, "deadline_at": None, "finished_at": None, "now": NOW, "steps": steps,
        "compensation": state.compensation,
    } | more  # fmt: skip


def drawn(body: dict[str, Any], *, step: str | None = None, width: int = 300) -> str:
    file = io.StringIO()
    shown = render_execution(body) if step is None else render_step(body, step)
    Console(file=file, width=width, markup=False, highlight=False).print(shown)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def cells(line: str) -> list[str]:
    return re.split(r"  +", line.strip())


def item(number: int, status: str, **more: Any) -> dict[str, Any]:
    return {
        "item": number, "status": status, "attempt": 1, "max_attempts": 3, "result": None, "failure": None,
        "available_at": None, "last_error": None, "worker": None,
    } | more  # fmt: skip


@pytest.mark.parametrize(
    ("items", "status", "words"),
    [
        ({"total": 10_000, "succeeded": 9_995, "failed": 2, "retrying": 3}, "running", "9,995 of 10,000 items done, 2 failed (tolerated), 3 retrying"),
        ({"total": 3, "succeeded": 1, "failed": 2}, "failed", "1 of 3 items done, 2 failed"),
        ({"total": 1, "queued": 1}, "queued", "0 of 1 item done, 1 queued"),
        ({"total": 0}, "completed", "the list is empty"),
    ],
)  # fmt: skip
def test_counts_in_words(items, status, words):
    assert counts_words(items, status) == words


def test_only_what_was_tolerated_is_called_so():
    counts = {"total": 5, "succeeded": 2, "failed": 3}
    assert counts_words(counts, "running", 2) == "2 of 5 items done, 3 failed (2 tolerated)"
    assert counts_words(counts, "running", 0) == "2 of 5 items done, 3 failed"
    lost = [("item_failed", {"item": n, "data": {"failure": FAILURE, "tolerated": n < 2}}) for n in range(3)]
    step = fold(told(fan_out(5), *(started(1, n) for n in range(3)), *lost)).steps["s"]
    assert (step.fan_out.counts()["failed"], step.fan_out.tolerated) == (3, 2)


def test_a_success_that_came_late_stands_beside_the_failure():
    late = {"result": 5, "via": "callback", "decision": {"verdict": "complete", "after": {"counted": 1}}}
    lines = drawn(
        execution(
            "step_enqueued", started(1), failed(1), retried(1), ("action_completed", {"attempt": 1, "data": late}),
            "step_completed",
        )
    ).splitlines()  # fmt: skip
    [before, after] = [cells(line) for line in lines if line.strip().startswith("1 ")]
    assert before[-2:] == ["failed: transient (http_503): 503", "retry in 2s"]
    assert after[-1] == "succeeded (by callback)"


def test_hints_go_where_the_command_went():
    there = TargetFlags(server="http://there:8520", home="my home")
    waiting = {"for": "signal", "signal": "go"}
    body = execution("step_enqueued", started(1, waiting=waiting))
    file = io.StringIO()
    Console(file=file, width=300, markup=False, highlight=False).print(render_execution(body, there))
    assert "send it: tenax signal 7 go --server http://there:8520 --home 'my home'" in file.getvalue()
    by_url = TargetFlags(database="postgresql://me:secret@db/x")
    assert by_url.command("up") == "tenax up --database 'postgresql://me:***@db/x'"
    in_query = TargetFlags(database="postgresql://db:5432/x?password=secret")
    assert "secret" not in in_query.command("up")
    assert DEFAULT_TARGET.command("show", 9, "--follow") == "tenax show 9 --follow"


def test_a_fan_out_with_its_items():
    listed = [
        item(0, "succeeded", result={"n": 1}),
        item(1, "failed", attempt=3, failure=FAILURE),
        item(2, "retrying", last_error="503", available_at="2026-01-01T00:30:05Z"),
        item(3, "running", worker="w1"),
        item(4, "waiting", attempt=0),
    ]
    counts = {"total": 5, "succeeded": 1, "failed": 1, "retrying": 1, "running": 1, "waiting": 1}
    body = execution(fan_out(5), started(1, 0), step={"items": counts, "listed_items": listed})
    lines = drawn(body).splitlines()
    table = lines[lines.index("") + 1 :]
    assert cells(table[1]) == ["s", "running", "1 of 5 items done, 1 failed (tolerated), 1 running, 1 retrying, 1 waiting"]  # fmt: skip
    assert [cells(line) for line in table[2:7]] == [
        ["[0]", "succeeded", "1 of 3", '{"n": 1}'],
        ["[1]", "failed", "3 of 3", "transient (http_503): 503", "tenax show 7 --step s --item 1"],
        ["[2]", "retrying", "1 of 3", "503", "next attempt in 5s"],
        ["[3]", "running", "1 of 3", "on w1"],
        ["[4]", "waiting", "-"],
    ]
    narrow = drawn(body, width=60)
    assert max(map(len, narrow.splitlines())) <= 60
    assert "\n  [2]  retrying, attempt 1 of 3, next attempt in 5s\n     503\n" in narrow


WAITS = [
    ({"for": "sleep", "until": "2026-01-01T00:35:00Z"}, "sleeping until 2026-01-01 00:35:00", "awake in 5m"),
    ({"for": "signal", "signal": "paid"}, "waiting for signal paid", "send it: tenax signal 7 paid"),
    ({"for": "approval"}, "waiting for an approval", "tenax approve 7 s (or reject)"),
    ({"for": "child"}, "child execution 12", "child execution 12 is running"),
]


@pytest.mark.parametrize(("waiting", "outcome", "then"), WAITS)
def test_what_a_step_waits_for_and_what_to_do(waiting, outcome, then):
    children = [{"id": 12, "status": "running", "item": None, "attempt": 1}]
    begun = started(1, worker=None, waiting=waiting, child=12 if waiting["for"] == "child" else None)
    text = drawn(execution("step_enqueued", begun, step={"children": children}))
    step, attempt = (line for line in text.splitlines() if "running" in line[:20] or outcome in line)
    assert cells(step) == ["s", "running", "1 of 3", then]
    assert cells(attempt)[-1] == outcome
    over = drawn(execution("step_enqueued", begun, finished_at=NOW, status="cancelled"))
    assert then not in over, "nothing to do any more"


def test_a_callback_that_is_awaited():
    accepted = ("action_accepted", {"attempt": 1, "data": {"deadline_at": "2026-01-02T00:00:00Z"}})
    text = drawn(execution("step_enqueued", started(1), accepted))
    assert "waiting for its callback, until 2026-01-02 00:00:00" in text


def test_many_polls_are_one_row():
    written: list[str | Written] = ["step_enqueued"]
    for n in range(1, 999):
        written += [
            started(n),
            ("action_polled", {"attempt": n, "data": {"polls": n}}),
            retried(n, counted=0),
        ]
    text = drawn(execution(*written))
    [row] = [line for line in text.splitlines() if "polled" in line]
    assert cells(row)[0] == "1-998"
    assert cells(row)[-2:] == ["polled 998 times, not yet done (not counted)", "again in 2s"]
    few = drawn(execution(*written[:7]))
    assert few.count("not yet done (not counted)") == 2


def test_vary_children_and_what_stands_in_are_told():
    vary = {"entry": 1, "override": {"args": {"model": "large"}}}
    terminal = ("step_failed_terminal", {"attempt": 2, "data": {"failure": FAILURE, "on_failure": "value"}})
    text = drawn(
        execution(
            "step_enqueued",
            started(1, child=12),
            failed(1),
            retried(1),
            started(2, vary=vary),
            failed(2),
            terminal,
            ("step_completed", {"data": {"result": [], "on_failure": "value"}}),
        )
    )
    assert "failed (child execution 12): transient" in text
    assert 'failed (vary 1: {"args": {"model": "large"}}): transient' in text
    assert re.search(r"^s +completed .*on_failure: a value stands in for it$", text, re.MULTILINE)


def test_a_compensation_has_lines_of_its_own():
    loud = FAILURE | {"traceback": "Traceback\n  there"}
    body = execution(
        "step_enqueued", started(1), succeeded(1), "step_completed",
        ("execution_compensating", {"data": {"failure": FAILURE | {"step": "b"}}}),
        compensated("enqueued"), compensated("started", attempt=1, worker="w"),
        compensated("error", attempt=1, failure=loud), compensated("failed", attempt=1, failure=loud),
        ("execution_compensated", {"data": {"completed": 0, "failed": 1}}), "execution_failed",
        finished_at=NOW,
    )  # fmt: skip
    text = drawn(body)
    assert text.startswith("execution 7 of w: failed in 30m, compensation failed\n")
    assert re.search(r"^  compensation +failed +1$", text, re.MULTILINE)
    assert re.search(r"^ +1 +\+\S+ +1s +failed: transient \(http_503\): 503$", text, re.MULTILINE)
    assert "s, compensation, attempt 1:\n  traceback:\n    Traceback\n      there" in text
    assert "compensation, attempt 1: transient (http_503): 503" in drawn(body, step="s")
    assert "execution 7 of w: running for 30m, compensation running" in drawn(
        execution(("execution_compensating", {"data": {}}))
    )


def test_the_compensations_of_a_fan_out_are_counted():
    body = execution(fan_out(2), compensated("enqueued", 1), compensated("started", 1, 1), compensated("completed", 1, 1), compensated("enqueued", 0))  # fmt: skip
    assert re.search(r"^  compensation +queued +1 of 2 items undone, 1 queued$", drawn(body), re.MULTILINE)


def member(number: int, *children: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": number, "workflow": "child", "status": "completed", "step": "s", "item": None, "attempt": 1,
        "failure": None, "created_at": START, "finished_at": NOW, "children": list(children), "more": 0,
    } | more  # fmt: skip


def test_the_tree_of_children():
    failure = FAILURE | {"step": "deep"}
    tree = member(
        7,
        member(8, member(9, status="failed", attempt=2, failure=failure), item=0),
        member(10, status="running", finished_at=None, item=1),
        more=4,
    )
    assert [line.plain for line in family_lines(tree, NOW)] == [
        "s[0]: execution 8 of child: completed in 30m",
        "  s, attempt 2: execution 9 of child: failed in 30m in step deep: transient (http_503): 503",
        "s[1]: execution 10 of child: running for 30m",
        "and 4 more",
    ]
    text = drawn(execution("step_enqueued", tree=tree))
    assert "children:\n  s[0]: execution 8 of child: completed in 30m\n    s, attempt 2: execution 9" in text


def test_a_tree_of_any_depth():
    tree = member(1)
    for number in range(2, 3000):
        tree = member(number, tree)
    assert len(list(family_lines(tree, NOW))) == 2998


def test_a_child_names_its_parent():
    parent = {"execution_id": 5, "step": "a", "item": 3, "attempt": 1}
    assert "\n  child of execution 5, step a[3], attempt 1\n" in drawn(execution(parent=parent))


UNSERVED = {"reason": "no live worker has the runtime process (queue gpu)", "since": START}
HELD = {"rule": "poison", "reason": "it has cost 3 workers their lease (a, b, c)", "until": "2026-01-01T01:00:00Z"}  # fmt: skip


def held(attempt: int) -> Written:
    decision = {
        "verdict": "hold",
        "rule": "poison",
        "after": {"counted": attempt, "lost_by": ["a", "b", "c"]},
    }
    data = {"delay_seconds": 2.0, "available_at": "2026-01-01T00:00:06Z", "decision": decision}
    return "retry_held", {"attempt": attempt, "data": data}


def test_a_step_that_nobody_can_run_says_so_and_how_to_help():
    body = execution("step_enqueued", step={"unserved": UNSERVED})
    lines = drawn(body).splitlines()
    assert cells(next(line for line in lines if line.startswith("s "))) == [
        "s", "queued", "-", "nobody runs it: see below",
    ]  # fmt: skip
    assert lines[-2:] == [
        "s is not run: no live worker has the runtime process (queue gpu)",
        "  start a worker: tenax worker (those there are: tenax workers)",
    ]
    with_labels = UNSERVED | {"queue": "gpu", "labels": {"zone": "a"}}
    assert "start a worker: tenax worker --queue gpu --label zone=a (" in drawn(
        execution("step_enqueued", step={"unserved": with_labels})
    )


@pytest.mark.parametrize(
    ("state", "actor", "remedy"),
    [
        ("paused", "me", "give it work again: tenax workers resume a"),
        ("draining", "tenax:server", "give it work again: tenax workers resume a"),
        ("draining", "me", "see what it has: tenax workers show a"),
        ("active", None, "see what it has: tenax workers show a"),
    ],
)
def test_an_able_worker_that_is_kept_from_work_is_the_nearest_help(state, actor, remedy):
    idle = [{"name": "a", "state": state, "state_actor": actor, "health": "unhealthy"}]
    text = drawn(execution("step_enqueued", step={"unserved": UNSERVED | {"idle": idle}}))
    assert text.splitlines()[-1] == f"  {remedy}"


@pytest.mark.parametrize(
    ("of", "remedy"),
    [
        ({"held_by": [4, 5]}, "see what runs, in executions 4, 5: tenax show 4"),
        ({"held_by": [4, 7]}, "see what runs, in execution 4: tenax show 4"),
        ({"held_by": [7]}, "it goes on when one of them ends: tenax show 7 --follow"),
        ({}, "it goes on when one of them ends: tenax show 7 --follow"),  # from an earlier server
        ({"queue": "gpu", "held_by": []}, "see the limits of the queue: tenax queues"),
    ],
)
def test_a_step_at_a_limit_says_which_and_where_to_look(of, remedy):
    limited = {"reason": "2 of 2 of `charge` run (concurrency)", "since": START, **of}
    lines = drawn(execution("step_enqueued", step={"limited": limited})).splitlines()
    assert cells(next(line for line in lines if line.startswith("s ")))[3] == "at a limit: see below"
    assert lines[-2:] == ["s waits at a limit: 2 of 2 of `charge` run (concurrency)", f"  {remedy}"]


def test_hints_of_a_worker_name_the_server_and_never_a_database():
    file = io.StringIO()
    body = execution("step_enqueued", step={"unserved": UNSERVED})
    shown = render_execution(body, TargetFlags(database="postgresql://x"))
    Console(file=file, width=300).print(shown)
    assert "tenax worker (those there are: tenax workers --database postgresql://x)" in file.getvalue()


def test_a_held_step_says_why_until_when_and_how_to_release_it():
    body = execution("step_enqueued", started(1), failed(1), held(1), step={"held": HELD})
    lines = drawn(body).splitlines()
    [line] = [line for line in lines if line.startswith("s ") and "is held" not in line]
    assert cells(line) == ["s", "held", "1 of 3", "held: see below"]
    assert lines[-3:] == [
        "s is held: it has cost 3 workers their lease (a, b, c)",
        "  fails in 30m; release it: tenax retry 7",
        "dead letters: tenax dead-letters list --execution 7",
    ]


def test_the_held_item_of_a_fan_out_is_named_with_its_workers():
    held_item = HELD | {"item": 7, "items": 3, "lost_by": ["a", "b"], "reason": "sent no heartbeat"}
    text = drawn(execution("step_enqueued", step={"held": held_item}))
    assert "\ns[7] is held: it has cost 2 workers their lease (a, b); 2 more are held\n" in text


def test_a_hold_that_is_over_is_not_spoken_of():
    body = execution("step_enqueued", started(1), failed(1), held(1), finished_at=NOW, status="cancelled")
    assert "release it" not in drawn(body)
