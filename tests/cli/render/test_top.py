"""What `tenax top` and `tenax stats` draw."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console, Group

from tenax.cli.render.operators.figures import stats_plot
from tenax.cli.render.operators.top import picture

FIGURES = {
    "window_seconds": 3600.0, "counted_until": None, "first_attempts": 100, "retries": 7, "retry_rate": 0.07, "retries_succeeded": 5,
    "retries_failed": 2, "retry_success_rate": 0.714, "executions": 90, "executions_completed": 80, "executions_failed": 3,
    "retries_per_execution": 0.08, "attempts": 107, "failures": 9, "failure_rate": 0.084,
    "workers": {"healthy": 11, "degraded": 0, "unhealthy": 1}, "unhealthy_rate": 0.08, "average_queue_depth": 2.0,
    "average_failure_rate": None, "dead_letters": 4,
}  # fmt: skip


def overview(rows: int) -> dict[str, Any]:
    numbers = range(rows)
    return {
        "figures": FIGURES,
        "lateness": {"p50": 0.1, "p99": None},
        "minutes": [{"minute": "2026-01-31T02:10:00Z", "attempts": n, "failures": 0} for n in range(30)],
        "queues": [{"queue": f"queue{n}", "ready": n, "waiting": 0, "running": 1, "blocked": 0, "workers": 2} for n in numbers],
        "workers": [
            {"name": f"worker{n}", "health": "healthy", "state": "active", "queue_depth": 1, "slots": 9, "failure_rate": None}
            for n in numbers
        ],
        "groups": [
            {"workflow": "w" * 40, "step": f"step{n}", "class": "transient", "reason": f"group{n}", "failures": n} for n in numbers
        ],
        "newest": [
            {"execution_id": n, "step": "s", "item": n, "attempt": 1, "reason": f"newest{n}", "due": None, "dead": n == 0}
            for n in numbers
        ],
        "alerts": [{"name": "retry_rate", "firing": True, "text": "retries in first attempts: 30 % (fires at more than 20 %)"}],
    }  # fmt: skip


def drawn(found: dict[str, Any], width: int, height: int | None) -> list[str]:
    console = Console(width=width, height=100, color_system=None)
    with console.capture() as captured:
        console.print(Group(*picture(found, width, height)))
    return captured.get().splitlines()


@pytest.mark.parametrize(("width", "height"), [(80, 24), (60, 24), (80, 30), (132, 43), (200, 60)])
def test_the_picture_fits_into_the_terminal_with_something_of_each_table(width: int, height: int) -> None:
    lines = drawn(overview(10), width, height)
    assert len(lines) <= height
    assert len(lines) >= min(height, 50) - 1  # and leaves no room unused
    text = "\n".join(lines)
    for first in ("queue0", "worker0", "group0", "newest0"):
        assert first in text
    assert ("of 10 shown" in text) == (height < 50)


def test_without_a_height_all_rows_are_shown() -> None:
    text = "\n".join(drawn(overview(8), 100, None))
    assert all(f"{name}7" in text for name in ("queue", "worker", "group", "newest"))
    assert "shown" not in text


def test_a_failure_without_a_retry_is_called_dead() -> None:
    first, second = (
        line for line in drawn(overview(2), 100, None) if "newest" in line and "failures" not in line
    )
    assert (first.split()[-1], second.split()[-3:]) == ("dead", ["running", "or", "held"])


def test_retries_of_workers_are_drawn() -> None:
    group = {
        "name": "w1",
        "failures": 3,
        "retries": 4,
        "succeeded": 2,
        "success_rate": 0.5,
        "seconds": 1.0,
        "waited": 2.0,
        "attempts": [],
    }
    [line] = stats_plot(
        {"by": "worker", "groups": [group, {**group, "name": "idle", "retries": 0, "success_rate": None}]}
    )
    assert str(line) == "  ██████████░░░░░░░░░░  50 % of 4 succeeded on w1"
