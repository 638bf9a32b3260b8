"""Tests that attempts that never wait share a task, without any trace of one in another."""

from __future__ import annotations

import asyncio
import contextlib
import time
import weakref
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

import pytest
from support.serve.server_in_memory import PATIENCE, assignment

from tenax.worker.attempt import RunningAttempt
from tenax.worker.task_pool import SLICE_SECONDS, TaskPool

Function = Callable[[], Awaitable[Any]]
WHOSE: ContextVar[str] = ContextVar("whose", default="nobody's")


class Stage:
    """Runs functions as attempts, and keeps what they returned or raised, in the order they ended."""

    def __init__(self) -> None:
        self.ended: list[Any] = []
        self.attempts: list[RunningAttempt] = []
        self._functions: list[Function] = []
        self._changed = asyncio.Event()
        self.runners = TaskPool(self._run)

    def add(self, *functions: Function) -> list[RunningAttempt]:
        first = len(self._functions)
        new = [RunningAttempt(assignment(item=first + n, token="t")) for n in range(len(functions))]
        self._functions += functions
        self.attempts += new
        self.runners.add(new)
        return new

    async def all_ended(self) -> list[Any]:
        async with asyncio.timeout(PATIENCE):
            while len(self.ended) < len(self._functions):
                self._changed.clear()
                await self._changed.wait()
        return self.ended

    async def _run(self, attempt: RunningAttempt) -> None:
        try:
            self.ended.append(await self._functions[attempt.assignment.item_id]())
        except BaseException as error:  # noqa: BLE001 - whatever it raises is what it came to
            self.ended.append(error)
        self._changed.set()


def play(scene: Callable[[Stage], Awaitable[None]]) -> None:
    async def played() -> None:
        await scene(Stage())

    asyncio.run(played())


async def turns_until(condition: Callable[[], bool]) -> int:
    """Counts the turns of the loop."""
    turns = 0
    async with asyncio.timeout(PATIENCE):
        while not condition():
            turns += 1
            await asyncio.sleep(0)
    return turns


def here() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


async def name_of_task() -> str:
    """A name and not the task itself: to keep that would be a mark of its own."""
    return here().get_name()


async def name_after_waiting() -> str:
    await asyncio.sleep(0)
    return here().get_name()


def test_those_that_never_wait_share_tasks_and_run_in_the_order_they_came():
    async def scene(stage: Stage):
        order: list[int] = []

        def numbered(n: int) -> Function:
            async def run() -> str:
                order.append(n)
                return here().get_name()

            return run

        stage.add(*map(numbered, range(100)))
        stage.add(*map(numbered, range(100, 200)))
        assert len(set(await stage.all_ended())) < 100
        assert order == list(range(200))

    play(scene)


def test_no_attempt_sees_the_context_of_another():
    async def scene(stage: Stage):
        async def sets_it():
            before = WHOSE.get()
            WHOSE.set("mine")
            return before, WHOSE.get()

        stage.add(sets_it, sets_it, sets_it)
        assert await stage.all_ended() == [("nobody's", "mine")] * 3
        assert WHOSE.get() == "nobody's"

    play(scene)


def test_an_attempt_that_waits_keeps_its_context_whatever_wakes_it():
    async def scene(stage: Stage):
        never = asyncio.get_running_loop().create_future()
        waits = asyncio.Event()

        async def passer_by():
            WHOSE.set("the passer-by's")

        async def waiter():
            WHOSE.set("the waiter's")
            await asyncio.sleep(0)
            seen = [WHOSE.get()]
            WHOSE.set("the waiter's still")
            waits.set()
            try:
                await never
            except asyncio.CancelledError:
                seen.append(WHOSE.get())
            seen.append(await asyncio.create_task(its_child()))
            return seen

        async def its_child():
            return WHOSE.get()

        waiting, *_ = stage.add(waiter, passer_by, passer_by)
        await waits.wait()
        waiting.task.cancel()
        ended = await stage.all_ended()
        assert ended[-1] == ["the waiter's", "the waiter's still", "the waiter's still"]

    play(scene)


def test_one_that_waits_has_its_task_to_itself_from_then_on():
    async def scene(stage: Stage):
        at_first: list[str] = []

        async def waits():
            at_first.append(here().get_name())
            return await name_after_waiting()

        stage.add(name_of_task, waits, name_of_task, name_of_task)
        stage.add(name_of_task)
        _, *between, own = await stage.all_ended()
        assert at_first == [own]
        assert own not in between
        stage.add(name_of_task)
        assert (await stage.all_ended())[-1] != own

    play(scene)


kept: list[Any] = []
KEPT_BY_TASK: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()


async def keeps_the_task():
    kept.append(here())


async def keeps_something_for_the_task():
    KEPT_BY_TASK[here()] = "something"


async def sets_an_attribute():
    here().request = "its own"  # type: ignore[attr-defined]


async def names_the_task():
    here().set_name("its own")


async def waits_for_its_end_by_a_callback():
    here().add_done_callback(kept.append)


async def cancels_itself():
    here().cancel()


async def cancels_itself_and_takes_it_back():
    here().cancel()
    here().uncancel()


async def will_cancel_itself():
    asyncio.get_running_loop().call_soon(here().cancel)


async def enters_a_timeout_and_never_leaves_it():
    limit = asyncio.timeout(0)
    await limit.__aenter__()


@pytest.mark.parametrize(
    "leaves_marks",
    [
        keeps_the_task,
        keeps_something_for_the_task,
        sets_an_attribute,
        names_the_task,
        waits_for_its_end_by_a_callback,
        cancels_itself,
        cancels_itself_and_takes_it_back,
        will_cancel_itself,
        enters_a_timeout_and_never_leaves_it,
    ],
    ids=lambda f: f.__name__,
)
def test_a_task_that_an_attempt_left_marks_in_is_not_used_again(leaves_marks):
    async def scene(stage: Stage):
        async def finds_its_task_as_new():
            task = here()
            assert task not in kept
            assert task not in KEPT_BY_TASK
            assert not hasattr(task, "request")
            assert task.get_name() != "its own"
            assert task.cancelling() == 0
            for _ in range(5):
                await asyncio.sleep(0)
            return "undisturbed"

        stage.add(name_of_task, leaves_marks, name_of_task, finds_its_task_as_new)
        first, _, third, last = await stage.all_ended()
        assert first != third
        assert last == "undisturbed"

    kept.clear()
    play(scene)
    kept.clear()


def test_to_cancel_one_is_to_cancel_no_other():
    async def scene(stage: Stage):
        open_ = asyncio.Event()

        async def waits():
            await open_.wait()
            return "done"

        attempts = stage.add(*[waits] * 5, name_of_task)
        await turns_until(lambda: all(attempt.task is not None for attempt in attempts[:5]))
        assert len({id(attempt.task) for attempt in attempts[:5]}) == 5
        attempts[2].task.cancel()
        await turns_until(lambda: len(stage.ended) == 2)
        open_.set()
        _, cancelled, *others = await stage.all_ended()
        assert isinstance(cancelled, asyncio.CancelledError)
        assert others == ["done"] * 4

    play(scene)


def test_timeouts_and_groups_of_tasks_work_in_a_task_that_others_had_before():
    async def scene(stage: Stage):
        async def runs_out():
            async with asyncio.timeout(0.001):
                await asyncio.get_running_loop().create_future()

        async def group():
            async with asyncio.TaskGroup() as tasks:
                children = [tasks.create_task(name_after_waiting()) for _ in range(3)]
            return len({child.result() for child in children})

        async def group_of_which_one_fails():
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(runs_out())
                await asyncio.get_running_loop().create_future()

        stage.add(name_of_task, runs_out)
        stage.add(name_of_task, group)
        stage.add(name_of_task, group_of_which_one_fails)
        ended = await stage.all_ended()
        assert 3 in ended
        assert {type(one) for one in ended if isinstance(one, Exception)} == {TimeoutError, ExceptionGroup}

    play(scene)


def test_what_an_attempt_raises_after_it_was_cancelled_has_not_come_of_that():
    async def scene(stage: Stage):
        async def swallows_and_fails():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.get_running_loop().create_future()
            raise ValueError("for another reason")

        [attempt] = stage.add(swallows_and_fails)
        await turns_until(lambda: attempt.task is not None)
        attempt.task.cancel()
        [error] = await stage.all_ended()
        assert isinstance(error, ValueError)
        assert error.__context__ is None

    play(scene)


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), ValueError()])
def test_what_one_raises_is_raised_in_it_and_the_others_go_on(error):
    async def scene(stage: Stage):
        async def raises():
            raise error

        async def waits_and_raises():
            await asyncio.sleep(0)
            raise error

        stage.add(name_of_task, raises, name_of_task, waits_and_raises, name_of_task)
        ended = await stage.all_ended()
        assert sum(one is error for one in ended) == 2
        assert sum(isinstance(one, str) for one in ended) == 3

    play(scene)


@pytest.mark.parametrize("waiting", [0, 100])
def test_no_two_that_take_long_begin_in_the_same_turn_of_the_loop(waiting):
    """Not even where many have waited, and many runners are made at once."""

    async def scene(stage: Stage):
        turn = 0

        async def count_turns():
            nonlocal turn
            while True:
                turn += 1
                await asyncio.sleep(0)

        async def takes_long():
            over = time.monotonic() + SLICE_SECONDS
            while time.monotonic() < over:
                pass
            return turn

        counting = asyncio.create_task(count_turns())
        stage.add(*[name_after_waiting] * waiting, *[takes_long] * 5)
        turns = [one for one in await stage.all_ended() if isinstance(one, int)]
        assert sorted(set(turns)) == turns
        assert len(turns) == 5
        counting.cancel()

    play(scene)


def test_many_that_wait_begin_within_a_few_turns_of_the_loop_also_after_one_that_did_not():
    async def scene(stage: Stage):
        begun: list[int] = []

        async def waits():
            begun.append(1)
            await open_.wait()

        open_ = asyncio.Event()
        stage.add(name_of_task)
        await stage.all_ended()
        stage.add(*[waits] * 1000)
        assert await turns_until(lambda: len(begun) == 1000) < 100
        open_.set()
        await stage.all_ended()

    play(scene)


def test_what_is_cleared_before_it_begins_never_does():
    async def scene(stage: Stage):
        stage.add(name_of_task, name_of_task)
        stage.runners.clear()
        for _ in range(5):
            await asyncio.sleep(0)
        assert stage.ended == []
        stage.add(name_of_task)
        await turns_until(lambda: len(stage.ended) == 1)

    play(scene)


def test_one_that_is_thrown_away_while_it_waits_is_closed():
    closed: list[str] = []

    async def waits():
        WHOSE.set("its own")
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            closed.append(WHOSE.get())

    async def scene(stage: Stage):
        [attempt] = stage.add(waits)
        await turns_until(lambda: attempt.task is not None)
        attempt.task.get_coro().close()
        assert closed == ["its own"]
        assert isinstance(stage.ended[0], GeneratorExit)
        attempt.task.cancel()
        with contextlib.suppress(asyncio.CancelledError, RuntimeError):
            await attempt.task

    play(scene)
