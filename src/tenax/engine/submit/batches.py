"""Writes submissions in batches. Submissions that take long have a batch of their own, so that the others need not wait."""

from __future__ import annotations

from collections.abc import Sequence

from tenax.engine.context import EngineContext
from tenax.engine.graph.start_execution import Start
from tenax.engine.group_commit import GroupCommit
from tenax.engine.submit.submit import Reserve, is_large_start, submit
from tenax.model.wire import Submitted


class Submissions:
    """Writes new executions. All executions of one call are written together, or none."""

    def __init__(self, context: EngineContext, reserve: Reserve) -> None:
        async def write(starts: Sequence[Start]) -> list[Submitted]:
            return await submit(context, reserve, starts)

        measure = context.measures.batches["submissions"]
        self._many = GroupCommit[Start, Submitted](write, measure=measure)
        self._large = GroupCommit[Start, Submitted](write, limit=1, measure=measure)
        """Takes one call at a time: a fan-out of 100,000 items takes seconds, and no other call has to wait for it."""

    async def __call__(self, starts: Sequence[Start]) -> list[Submitted]:
        way = self._large if any(is_large_start(start) for start in starts) else self._many
        return await way(starts)

    async def close(self) -> None:
        """Answers all calls that were made, and then returns."""
        await self._many.close()
        await self._large.close()
