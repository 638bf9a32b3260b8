"""`@task`, the outcomes and the context, as users write them."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

import tenax
from tenax.errors import UsageError
from tenax.model.wire import Assignment
from tenax.sdk.context import TaskContext
from tenax.sdk.task import REGISTRY, Task, TaskRegistry


def test_a_task_stays_the_function_it_was():
    @tenax.task
    def double(x: int) -> int:
        return 2 * x

    @tenax.task(name="other-name", process=True)
    async def named() -> None: ...

    assert double(4) == 8
    assert (double.__name__, double.name) == ("double", REGISTRY.of(double).name)
    assert REGISTRY.of(double).name == f"{__name__}:test_a_task_stays_the_function_it_was.<locals>.double"
    assert not REGISTRY.of(double).process
    other = REGISTRY.find("other-name")
    assert (other, other.process, other.is_async) == (named, True, True)


def test_two_functions_of_one_name_are_refused_but_a_reload_is_not():
    def one(): ...
    def two(): ...

    registry = TaskRegistry()
    registry.add(Task("n", one))
    registry.add(Task("n", one, process=True))
    assert registry.find("n").process
    with pytest.raises(UsageError, match="two tasks are named 'n'"):
        registry.add(Task("n", two))


@pytest.mark.parametrize(("after", "seconds"), [(5, 5.0), ("250ms", 0.25), (None, None)])
def test_retry_after_takes_durations(after, seconds):
    assert tenax.Retry("x", after=after).after == seconds


@pytest.mark.parametrize("make", [lambda: tenax.Retry(after="soon"), lambda: tenax.Snooze("-1s")])
def test_wrong_durations_are_refused(make):
    with pytest.raises(ValueError, match="duration"):
        make()


def assignment(**more) -> Assignment:
    values = {"attempt": 1, "max_attempts": None, **more}
    place = (1, 2, values.pop("attempt"), "t", "load", "python", {}, 60.0, "receipt", "flow")
    return Assignment(*place, **values)


def test_the_context_knows_its_attempt_and_raises_once_revoked():
    context = TaskContext(assignment(), started=1_000_000.0)
    assert (context.is_retry, context.max_attempts, context.item_id) == (False, None, 2)
    assert context.deadline.timestamp() == 1_000_060.0
    context.heartbeat()
    context.revoke()
    assert context.cancelled
    with pytest.raises(tenax.Cancelled, match="attempt 1 of step 'load'"):
        context.heartbeat()


def test_the_context_knows_its_item_and_whether_it_undoes():
    plain = TaskContext(assignment(), started=0.0)
    assert (plain.item, plain.compensates) == (None, False)
    undoing = TaskContext(assignment(item=3, compensates=True), started=0.0)
    assert (undoing.item, undoing.compensates) == (3, True)


@pytest.mark.parametrize(("item", "words"), [(None, "[1 load attempt 2]"), (0, "[1 load item 0 attempt 2]")])
def test_the_contexts_logger_says_whose_line_it_is(caplog, item, words):
    context = TaskContext(assignment(attempt=2, item=item), started=0.0)
    with caplog.at_level(logging.INFO, "tenax.task"):
        context.logger.info("read %d rows", 5, extra={"rows": 5})
    [record] = caplog.records
    assert record.getMessage() == f"{words} read 5 rows"
    assert (record.execution_id, record.item, record.rows) == (1, item, 5)


def test_there_is_no_context_outside_of_an_attempt():
    with pytest.raises(UsageError, match="no running attempt"):
        tenax.context()


def test_every_public_name_is_there_and_importing_tenax_imports_nothing_heavy():
    for name in tenax.__all__:
        assert getattr(tenax, name) is not None
    with pytest.raises(AttributeError):
        tenax.no_such_name  # noqa: B018 - the access is the test
    code = "import sys, tenax; print([m for m in ('httpx2', 'pydantic', 'asyncio', 'jinja2') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_a_module_of_tasks_may_import_the_application():
    code = (
        "import sys\nfrom tenax import Client, Handle, RetryPolicy, Tenax, task\n"
        "print([m for m in ('pydantic', 'fastapi', 'asyncpg', 'yaml') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ran.stdout.strip(), ran.stderr) == ("[]", "")
