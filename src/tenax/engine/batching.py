"""Group commit: calls that arrive while a transaction runs form the next batch."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from tenax.errors import TenaxError

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class GroupCommit(Generic[Question, Answer]):
    """At light load a call waits for one commit, its own; at heavy load a commit serves hundreds of calls."""

    def __init__(self, run: Callable[[list[Question]], Awaitable[list[Answer]]], *, limit: int = 500) -> None:
        self._run = run
        self._limit = limit
        self._waiting: deque[tuple[Sequence[Question], asyncio.Future[list[Answer]]]] = deque()
        self._drainer: asyncio.Task[None] | None = None

    async def __call__(self, questions: Sequence[Question]) -> list[Answer]:
        if not questions:
            return []
        future: asyncio.Future[list[Answer]] = asyncio.get_running_loop().create_future()
        self._waiting.append((questions, future))
        if self._drainer is None or self._drainer.done():
            self._drainer = asyncio.create_task(self._drain())
        return await future

    async def close(self) -> None:
        """What has been asked is still answered."""
        if self._drainer is not None:
            await self._drainer

    async def _drain(self) -> None:
        while self._waiting:
            calls = [self._waiting.popleft()]
            size = len(calls[0][0])
            while self._waiting and size + len(self._waiting[0][0]) <= self._limit:
                calls.append(self._waiting.popleft())
                size += len(calls[-1][0])
            await self._answer(calls)

    async def _answer(self, calls: list[tuple[Sequence[Question], asyncio.Future[list[Answer]]]]) -> None:
        questions = [question for asked, _ in calls for question in asked]
        try:
            answers = await self._run(questions)
        except TenaxError as error:
            _fail(calls, error)
        except Exception as error:  # noqa: BLE001 -- one caller's bad data must not fail the others: each is tried alone
            if len(calls) == 1:
                _fail(calls, error)
                return
            for call in calls:
                await self._answer([call])
        else:
            start = 0
            for asked, future in calls:
                if not future.done():
                    future.set_result(answers[start : start + len(asked)])
                start += len(asked)


def _fail(calls: list[tuple[Sequence[Question], asyncio.Future[list[Answer]]]], error: Exception) -> None:
    for _, future in calls:
        if not future.done():
            future.set_exception(error)
