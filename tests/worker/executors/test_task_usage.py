"""Tests the usage that Python tasks tell by `context().usage(...)`: in a thread, in the event loop, and in a process of their own."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tenax.model.attempt.outcome import Usage

TASKS = """
    import os, time
    from tenax import context, task

    def tell():
        context().usage(tokens=5, cost_usd=0.5)
        context().usage(tokens=9)

    @task
    def in_thread(): tell()

    @task
    async def in_loop(): tell()

    @task(process=True)
    def in_process(): tell()

    @task(process=True)
    async def in_process_loop(): tell()

    @task
    def fails():
        tell()
        raise OSError("no")

    @task(process=True)
    def dies():
        tell()
        os.kill(os.getpid(), 9)

    @task(process=True)
    def hangs():
        tell()
        time.sleep(600)

    @task
    def tells_nothing(): context().usage()
"""


@pytest.fixture
def tell(run, tmp_path: Path):
    (tmp_path / "usage_tasks.py").write_text(textwrap.dedent(TASKS))

    def run_task(name: str, **more):
        return run("python", {"task": f"usage_tasks:{name}"}, base_dir=str(tmp_path), **more)

    return run_task


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("in_thread", "succeeded"),
        ("in_loop", "succeeded"),
        ("in_process", "succeeded"),
        ("in_process_loop", "succeeded"),
        ("fails", "failed"),
        ("dies", "failed"),
    ],
)
def test_a_task_reports_the_last_sums_that_it_told(tell, name, status):
    outcome = tell(name)
    assert (outcome.status, outcome.usage) == (status, Usage(0.5, 9))


def test_what_was_told_before_a_timeout_is_reported(tell):
    outcome = tell("hangs", timeout=3.0)
    assert outcome.facts.timed_out
    assert outcome.usage == Usage(0.5, 9)


def test_a_usage_without_a_sum_is_a_mistake_of_the_task(tell):
    assert "usage() needs `tokens`, `cost_usd`, or both" in tell("tells_nothing").facts.message
