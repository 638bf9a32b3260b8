"""Commits calls in groups: calls that arrive while a transaction runs form the next batch."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context
from time import perf_counter
from typing import Generic, TypeVar, cast

from tenax.engine.measures import BatchMeasure
from tenax.errors import TenaxError

Question = TypeVar("Question")
Answer = TypeVar("Answer")

_Call = tuple[Sequence[Question], asyncio.Future[list[Answer]]]


class GroupCommit(Generic[Question, Answer]):
    """Runs calls in batches. At light load a call waits for one commit, its own. At heavy load one commit serves
    hundreds of calls."""

    def __init__(
        self,
        run: Callable[[list[Question]], Awaitable[list[Answer]]],
        *,
        limit: int = 500,
        at_once: int = 1,
        measure: BatchMeasure | None = None,
    ) -> None:
        """`at_once` is the number of batches that may run at the same time while full batches wait."""
        self._measure = measure
        self._run = run
        self._limit = limit
        self._at_once = at_once
        self._waiting: deque[_Call[Question, Answer]] = deque()
        self._drainers: set[asyncio.Task[None]] = set()

    async def __call__(self, questions: Sequence[Question]) -> list[Answer]:
        if not questions:
            return []
        future: asyncio.Future[list[Answer]] = asyncio.get_running_loop().create_future()
        self._waiting.append((questions, future))
        if not self._drainers or (len(self._drainers) < self._at_once and self._is_full()):
            # A context of its own: a batch is not the work of the caller that happened to come first.
            drainer = asyncio.create_task(self._drain(), context=Context())
            self._drainers.add(drainer)
            drainer.add_done_callback(self._drainers.discard)
        return await future

    async def close(self) -> None:
        """Answers all calls that were made, and then returns."""
        while self._drainers:
            await asyncio.wait(self._drainers)

    async def _drain(self) -> None:
        """Runs batches. The last drainer must empty the queue, since no other will. Any other drainer ends when no full
        batch is left."""
        while self._waiting and (len(self._drainers) == 1 or self._is_full()):
            await self._answer(self._next_batch())
        # Discarded now and not by the done callback: a drainer that ends in the same turn must know that it is the
        # last.
        self._drainers.discard(cast("asyncio.Task[None]", asyncio.current_task()))

    def _next_batch(self) -> list[_Call[Question, Answer]]:
        calls = [self._waiting.popleft()]
        size = len(calls[0][0])
        while self._waiting and size + len(self._waiting[0][0]) <= self._limit:
            calls.append(self._waiting.popleft())
            size += len(calls[-1][0])
        return calls

    def _is_full(self) -> bool:
        return sum(len(asked) for asked, _ in self._waiting) >= self._limit

    async def _answer(self, calls: list[_Call[Question, Answer]]) -> None:
        questions = [question for asked, _ in calls for question in asked]
        began = perf_counter()
        try:
            answers = await self._run(questions)
        except TenaxError as error:
            _fail(calls, error)
        except Exception as error:  # noqa: BLE001 -- bad data of one caller must not fail the others: each call is tried alone
            if len(calls) == 1:
                _fail(calls, error)
                return
            for call in calls:
                await self._answer([call])
        else:
            if self._measure is not None:
                self._measure.add(len(questions), perf_counter() - began)
            start = 0
            for asked, future in calls:
                if not future.done():
                    future.set_result(answers[start : start + len(asked)])
                start += len(asked)


def _fail(calls: list[_Call[Question, Answer]], error: Exception) -> None:
    for _, future in calls:
        if not future.done():
            future.set_exception(error)
