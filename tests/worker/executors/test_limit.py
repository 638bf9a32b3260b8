"""Tests the time limit of a function in the loop: it ends its attempt whatever the function does, and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

import pytest

from tenax.model.attempt.outcome import Outcome
from tenax.sdk.context import TaskContext
from tenax.worker.executors.python import PythonExecutor
from tenax.worker.processes.guardian import Guardian

Attempt = Callable[..., Awaitable[Outcome]]
SHORT = 0.01
LONG = 60.0


@pytest.fixture
def play(assign, register):
    """Plays a scene with a way to run a function, as an attempt of its own in the task that asks for it."""

    def run(scene: Callable[[Attempt], Awaitable[Any]]) -> None:
        async def played() -> None:
            numbers = count()
            guardian = Guardian()
            executor = PythonExecutor(guardian)

            async def attempt(function: Callable[..., Any], seconds: float) -> Outcome:
                name = register(f"limited-{next(numbers)}", function)
                assignment = assign("python", {"task": name}, timeout=seconds)
                return await executor.run(assignment, TaskContext(assignment, started=time.time()))

            try:
                await scene(attempt)
            finally:
                await executor.close()
                guardian.close()

        asyncio.run(played())

    return run


async def forever() -> None:
    await asyncio.get_running_loop().create_future()


async def gives_in():
    await forever()


async def swallows():
    with contextlib.suppress(asyncio.CancelledError):
        await forever()
    return "as if nothing had been"


async def swallows_and_goes_on():
    with contextlib.suppress(asyncio.CancelledError):
        await forever()
    for _ in range(10):
        await asyncio.sleep(0)
    return "as if nothing had been"


async def raises_another():
    try:
        await forever()
    finally:
        raise ValueError("while it cleaned up")


async def translates():
    try:
        await forever()
    except asyncio.CancelledError:
        raise TimeoutError("its own words") from None


@pytest.mark.parametrize(
    "function",
    [gives_in, swallows, swallows_and_goes_on, raises_another, translates],
    ids=lambda f: f.__name__,
)
def test_time_that_is_up_is_a_timeout_whatever_the_function_makes_of_it(play, function):
    async def scene(attempt: Attempt):
        outcome = await attempt(function, SHORT)
        assert (outcome.status, outcome.result) == ("failed", None)
        assert outcome.facts.timed_out
        assert "0.01" in outcome.facts.message

    play(scene)


def test_one_who_cancels_from_outside_is_obeyed(play):
    async def scene(attempt: Attempt):
        begun = asyncio.Event()

        async def begins():
            begun.set()
            await forever()

        running = asyncio.create_task(attempt(begins, LONG))
        await begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert running.cancelled()

    play(scene)


def test_one_who_cancels_after_the_time_was_up_is_obeyed_too(play):
    async def scene(attempt: Attempt):
        was_told = asyncio.Event()

        async def is_told_twice():
            with contextlib.suppress(asyncio.CancelledError):
                await forever()
            was_told.set()
            await forever()

        running = asyncio.create_task(attempt(is_told_twice, SHORT))
        await was_told.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    play(scene)


def test_a_function_that_finishes_though_it_was_cancelled_has_finished(play):
    async def scene(attempt: Attempt):
        begun = asyncio.Event()

        async def finishes():
            begun.set()
            with contextlib.suppress(asyncio.CancelledError):
                await forever()
            return "done"

        running = asyncio.create_task(attempt(finishes, LONG))
        await begun.wait()
        running.cancel()
        outcome = await running
        assert (outcome.status, outcome.result) == ("succeeded", "done")

    play(scene)


async def raises_it_itself():
    raise asyncio.CancelledError("of its own")


async def cancels_what_it_waits_for():
    inner = asyncio.ensure_future(forever())
    asyncio.get_running_loop().call_soon(inner.cancel)
    await inner


@pytest.mark.parametrize("function", [raises_it_itself, cancels_what_it_waits_for], ids=lambda f: f.__name__)
def test_a_function_that_cancels_itself_has_failed(play, function):
    async def scene(attempt: Attempt):
        outcome = await attempt(function, LONG)
        assert outcome.status == "failed"
        assert outcome.facts.exception == "asyncio.exceptions.CancelledError"
        assert not outcome.facts.timed_out

    play(scene)


async def returns_at_once():
    return "in time"


def test_what_needs_no_time_is_in_time_and_nothing_rings_afterwards(play):
    async def scene(attempt: Attempt):
        for _ in range(3):
            assert (await attempt(returns_at_once, 0.0)).result == "in time"
        for _ in range(5):
            await asyncio.sleep(0)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0

    play(scene)


def test_who_is_done_in_the_very_round_in_which_the_time_is_up_is_one_or_the_other(play):
    """The awaited result and the alarm are due together. Either may win, but not half of each."""

    async def scene(attempt: Attempt):
        for rounds in range(6):

            async def just_so(rounds=rounds):
                for _ in range(rounds):
                    await asyncio.sleep(0)
                return "done"

            outcome = await asyncio.create_task(attempt(just_so, 0.0))
            if outcome.status == "succeeded":
                assert outcome.result == "done"
            else:
                assert outcome.facts.timed_out
        assert rounds == 5
        assert outcome.status == "failed", "five rounds are more than no time"

    play(scene)


def test_the_time_before_the_first_wait_counts_too(play):
    async def works_before_it_waits():
        over = time.monotonic() + 2 * SHORT
        while time.monotonic() < over:
            pass
        for _ in range(10):
            await asyncio.sleep(0)
        return "as if nothing had been"

    async def scene(attempt: Attempt):
        assert (await attempt(works_before_it_waits, SHORT)).facts.timed_out

    play(scene)


def test_each_of_many_that_wait_has_a_limit_of_its_own(play):
    async def scene(attempt: Attempt):
        done = asyncio.Event()

        async def waits():
            await done.wait()
            return "in time"

        late = [asyncio.create_task(attempt(gives_in, SHORT)) for _ in range(3)]
        early = [asyncio.create_task(attempt(waits, LONG)) for _ in range(3)]
        assert [(await one).facts.timed_out for one in late] == [True] * 3
        done.set()
        assert [(await one).result for one in early] == ["in time"] * 3

    play(scene)


def test_an_attempt_that_ran_out_leaves_nothing_to_the_next_one_of_its_task(play):
    async def scene(attempt: Attempt):
        assert (await attempt(swallows, SHORT)).facts.timed_out
        assert (await attempt(returns_at_once, LONG)).result == "in time"
        outcome = await attempt(raises_it_itself, LONG)
        assert outcome.status == "failed"

    play(scene)
