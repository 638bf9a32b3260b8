"""Tests that calls form batches while one is under way, and that a second batch runs beside it only if a full batch waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar

import pytest

from tenax.engine.group_commit import GroupCommit
from tenax.errors import Conflict

Ask = Callable[..., Awaitable[asyncio.Task[list[int]]]]


class Works:
    """Batches as they begin; each ends when it is told to."""

    def __init__(self) -> None:
        self.begun: list[list[int]] = []
        self._ends: list[asyncio.Future[None]] = []

    async def __call__(self, questions: list[int]) -> list[int]:
        end = asyncio.get_running_loop().create_future()
        self.begun.append(questions)
        self._ends.append(end)
        await end
        return [question * 10 for question in questions]

    def end(self, *numbers: int) -> None:
        for number in numbers:
            self._ends[number].set_result(None)


async def settled() -> None:
    """Waits until everything has happened that needs no action of the test."""
    for _ in range(10):
        await asyncio.sleep(0)


@asynccontextmanager
async def grouped(at_once: int = 1) -> AsyncIterator[tuple[Works, Ask]]:
    works = Works()
    group = GroupCommit[int, int](works, limit=3, at_once=at_once)

    async def ask(*questions: int) -> asyncio.Task[list[int]]:
        task = asyncio.create_task(group(questions))
        await settled()
        return task

    yield works, ask
    await group.close()


async def test_what_comes_meanwhile_is_the_next_batch():
    async with grouped() as (works, ask):
        answers = [await ask(1), await ask(2), await ask(3, 4), await ask(5)]
        assert works.begun == [[1]]
        works.end(0)
        await settled()
        assert works.begun == [[1], [2, 3, 4]]
        works.end(1)
        await settled()
        works.end(2)
        assert [await answer for answer in answers] == [[10], [20], [30, 40], [50]]


async def test_one_at_a_time_however_many_wait():
    async with grouped() as (works, ask):
        for n in range(4):
            await ask(n, n, n)
        assert len(works.begun) == 1
        for n in range(4):
            works.end(n)
            await settled()


async def test_a_full_batch_goes_beside_the_one_under_way_and_what_is_less_waits():
    async with grouped(at_once=2) as (works, ask):
        await ask(1)
        await ask(2, 3)
        assert works.begun == [[1]]
        await ask(4)
        assert works.begun == [[1], [2, 3, 4]]
        await ask(5, 6, 7)
        assert len(works.begun) == 2
        works.end(1)
        await settled()
        assert works.begun == [[1], [2, 3, 4], [5, 6, 7]]
        works.end(0, 2)
        await settled()


async def test_a_batch_is_not_the_work_of_its_first_caller():
    caller = ContextVar("caller", default="nobody")
    seen: list[str] = []

    async def run(questions: list[int]) -> list[int]:
        seen.append(caller.get())
        return questions

    group = GroupCommit[int, int](run)
    caller.set("first")
    assert await group([1]) == [1]
    assert seen == ["nobody"]


async def test_nothing_is_left_behind_when_both_end_together():
    async with grouped(at_once=2) as (works, ask):
        await ask(1)
        await ask(2, 3, 4)
        last = await ask(5)
        assert works.begun == [[1], [2, 3, 4]]
        works.end(0, 1)
        await settled()
        assert works.begun[2:] == [[5]]
        works.end(2)
        assert await last == [50]


async def test_closing_waits_for_all_that_was_asked():
    works = Works()
    group = GroupCommit[int, int](works, limit=3, at_once=2)
    asked = [asyncio.create_task(group(questions)) for questions in ([1], [2, 3, 4], [5])]
    await settled()
    closing = asyncio.create_task(group.close())
    for n in range(3):
        await settled()
        assert not closing.done()
        works.end(n)
    await closing
    assert [task.result() for task in asked] == [[10], [20, 30, 40], [50]]


async def test_bad_data_of_one_fails_nobody_else():
    async def divide(questions: list[int]) -> list[float]:
        return [1 / question for question in questions]

    group = GroupCommit[int, float](divide)
    good, bad, refused = (asyncio.create_task(group(questions)) for questions in ([1, 2], [0], [4]))
    assert await good == [1, 0.5]
    assert await refused == [0.25]
    with pytest.raises(ZeroDivisionError):
        await bad


async def test_an_error_that_speaks_of_all_is_told_to_all():
    async def refuse(_: list[int]) -> list[int]:
        raise Conflict("not now")

    group = GroupCommit[int, int](refuse)
    for task in [asyncio.create_task(group([n])) for n in range(2)]:
        with pytest.raises(Conflict):
            await task
