"""The list of executions: what it says of each, and what it leaves out on a narrow terminal."""

from __future__ import annotations

from io import StringIO
from typing import Any

from rich.console import Console

from tenax.cli.render.execution_table import change_key, execution_table


def row(**more: Any) -> dict[str, Any]:
    base = {
        "id": 1234567, "workflow": "a-workflow-with-a-rather-long-name-of-its-own", "version": None, "status": "running",
        "failure": None, "created_at": "2026-01-31T12:00:00.5Z", "finished_at": None, "retry_of": None, "parent": None,
        "compensation": None, "waiting": None,
    }  # fmt: skip
    return {**base, **more}


def waiting(**more: Any) -> dict[str, Any]:
    base = {
        "item": None, "step": "call", "state": "retrying", "attempt": 2, "counted": 2, "lost_by": [], "awaiting": None,
        "last_error": "503 Service Unavailable", "compensates": False, "available_at": "2026-01-31T12:05:00Z",
        "max_attempts": 4, "unserved": None, "limited": None, "due_in": 300.0, "fan_out": None,
    }  # fmt: skip
    return {**base, **more}


def printed(found: list[dict[str, Any]], width: int = 300) -> list[str]:
    target = Console(width=width, file=StringIO(), color_system=None)
    target.print(execution_table(found), crop=False)
    return [line.rstrip() for line in target.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_a_retrying_execution_says_when_it_is_due():
    assert "call retrying, retry in 5m, attempt 2 of 4" in printed([row(waiting=waiting())])[1]
    assert "call retrying, retry due, attempt 2 of 4" in printed([row(waiting=waiting(due_in=0.0))])[1]


def test_a_fan_out_says_how_far_it_is():
    fan_out = {"total": 5000, "ended": 2125, "failed": 0}
    [_, line] = printed([row(waiting=waiting(item=17, fan_out=fan_out))])
    assert "  call: 2,125 of 5,000  " in line
    [_, line] = printed([row(waiting=waiting(item=17, fan_out={**fan_out, "failed": 3}))])
    assert "  call: 2,125 of 5,000, 3 failed  " in line
    limited = {"reason": "1 of 1 at once", "since": "2026-01-31T12:00:00Z"}
    [_, line] = printed([row(waiting=waiting(item=17, fan_out=fan_out, limited=limited))])
    assert "  call: 2,125 of 5,000: 1 of 1 at once  " in line


def test_the_id_and_the_state_are_whole_at_every_width():
    found = [
        row(waiting=waiting()),
        row(id=8, status="failed", compensation="failed", failure={"message": "x" * 90}),
    ]
    for width in range(40, 200, 3):
        lines = printed(found, width)
        assert "1234567" in lines[1]
        assert " running" in lines[1]
        assert "failed (compensation failed)" in lines[2]


def test_times_until_retries_are_no_news_of_a_list_that_is_watched():
    first, second, due = (change_key([row(waiting=waiting(due_in=n))]) for n in (300.0, 299.0, 0.0))
    assert first == second
    assert first != due
    assert change_key([row()]) == [row()]
