"""A worker calls what the module has under the task's name at the time of the call, so that a test can replace it."""

from __future__ import annotations

import asyncio
import pickle
import sys
from dataclasses import dataclass
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from tenax.model.attempt.classify import classify
from tenax.sdk.task import Task, task
from tenax.worker.attempt import RunningAttempt
from tenax.worker.executors.python import PythonExecutor
from tenax.worker.handlers.registry import NoHandler, find_handler
from tenax.worker.processes.guardian import Guardian

HERE = sys.modules[__name__]


@dataclass
class Order:
    amount: int


@task
def charge(order: Order, ctx=None) -> dict[str, Any]:
    return {"charged": order.amount, "attempt": ctx and ctx.attempt}


def plain(amount):
    return {"plain": amount}


@pytest.fixture
def steps(assign):
    """Runs a function before each step, and all steps with one executor, as a worker does. Returns the outcomes."""

    def run_all(name, args, *before):
        async def go():
            guardian = Guardian()
            executor = PythonExecutor(guardian)
            outcomes = []
            try:
                for prepare in before:
                    prepare()
                    assignment = assign("python", {"task": name, "args": args})
                    outcomes.append(await executor.run(assignment, RunningAttempt(assignment).context))
            finally:
                await executor.close()
                guardian.close()
            return outcomes

        return asyncio.run(go())

    return run_all


def nothing(): ...


@pytest.mark.parametrize("function", ["charge", "plain"])
def test_a_function_that_was_replaced_is_called_instead(monkeypatch, steps, function):
    args = {"order": {"amount": 3}} if function == "charge" else {"amount": 3}
    fake = AsyncMock(return_value="faked")
    first, second, third = steps(
        f"{__name__}:{function}",
        args,
        nothing,
        lambda: monkeypatch.setattr(HERE, function, fake),
        monkeypatch.undo,
    )
    assert (second.status, second.result) == ("succeeded", "faked")
    assert first.result == third.result != "faked"
    fake.assert_awaited_once_with(**({"order": Order(3)} if function == "charge" else args))


def test_a_fake_gets_the_arguments_of_the_task_and_its_own_context(monkeypatch, steps):
    monkeypatch.setattr(HERE, "charge", lambda order, ctx: [type(order).__name__, ctx.attempt])
    [outcome] = steps(f"{__name__}:charge", {"order": {"amount": 3}}, nothing)
    assert outcome.result == ["Order", 2]


def test_a_call_of_the_task_itself_is_its_function(monkeypatch):
    own = charge
    monkeypatch.setattr(HERE, "charge", Mock())
    assert own(Order(5))["charged"] == 5
    assert pickle.loads(pickle.dumps(other)) is other


@task(name="lookup-other")
def other(amount: int) -> int:
    return amount


def test_two_tasks_under_one_name_stay_what_they_were(register):
    def made(number):
        def same():
            return number

        same.__qualname__ = "other"
        return Task(f"lookup-{number}", same)

    one, two = made(1), made(2)
    assert (one.function(), two.function()) == (1, 2)


def test_what_does_not_fit_is_invalid_and_nothing_runs(steps):
    [outcome] = steps(f"{__name__}:charge", {"order": {"amount": "much"}}, nothing)
    failure = classify(outcome.facts)
    assert (failure.failure_class, failure.reason) == ("invalid", "invalid_parameters")
    assert failure.message == "order.amount: expected int, got str"


@task
def unreadable(amount: Nowhere) -> int:  # noqa: F821 -- the test is about it
    return amount


def test_an_annotation_that_cannot_be_read_is_invalid(steps):
    [outcome] = steps(f"{__name__}:unreadable", {"amount": 1}, nothing)
    failure = classify(outcome.facts)
    assert (failure.failure_class, failure.reason) == ("invalid", "invalid_parameters")
    assert "the annotation Nowhere cannot be read" in failure.message


@task
def typed_result(amount: int) -> list[Any]:
    return [Order(amount), b"x", {2, 1}]


def test_results_are_encoded_by_the_codec(steps):
    [outcome] = steps(f"{__name__}:typed_result", [4], nothing)
    assert outcome.result == [{"amount": 4}, "eA==", [1, 2]]


def test_a_task_of_a_script_says_where_it_runs():
    with pytest.raises(NoHandler, match="belongs to a script, and runs only in the process of that script"):
        find_handler("__main__:no_such_task", None)
