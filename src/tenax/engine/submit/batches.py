"""Submissions in batches: those that take long go beside the others."""

from __future__ import annotations

from collections.abc import Sequence

from tenax.engine.context import Core
from tenax.engine.graph.start_execution import Start
from tenax.engine.group_commit import GroupCommit
from tenax.engine.submit.submit import Reserve, is_large, submit
from tenax.model.wire import Submitted


class Submissions:
    """Writes new executions. All of one call are written together, or none."""

    def __init__(self, core: Core, reserve: Reserve) -> None:
        async def write(starts: Sequence[Start]) -> list[Submitted]:
            return await submit(core, reserve, starts)

        self._many = GroupCommit[Start, Submitted](write)
        self._large = GroupCommit[Start, Submitted](write, limit=1)
        """One call at a time: a fan-out of 100,000 items takes seconds, and nobody else waits for it."""

    async def __call__(self, starts: Sequence[Start]) -> list[Submitted]:
        way = self._large if any(is_large(start) for start in starts) else self._many
        return await way(starts)

    async def close(self) -> None:
        """Answers what has been asked."""
        await self._many.close()
        await self._large.close()
