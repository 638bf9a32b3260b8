"""Writes reports in batches. Large reports are written beside those of others."""

from __future__ import annotations

from collections.abc import Sequence

from tenax.engine.context import EngineContext
from tenax.engine.group_commit import GroupCommit
from tenax.engine.report.repeated_tokens import report_in_turn
from tenax.engine.slices import LARGE
from tenax.model.wire import Report, ReportAnswer

BATCHES_AT_ONCE = 2
"""Batches under way: the database works on one while the next one is prepared."""


class ReportBatches:
    def __init__(self, context: EngineContext) -> None:
        async def write(reports: Sequence[Report]) -> list[ReportAnswer]:
            return await report_in_turn(context, reports)

        measure = context.measures.batches["reports"]
        self._many = GroupCommit[Report, ReportAnswer](write, at_once=BATCHES_AT_ONCE, measure=measure)
        self._large = GroupCommit[Report, ReportAnswer](write, limit=1, measure=measure)
        """One call at a time: many megabytes take long to write or to compare, and no other report waits for them."""

    async def __call__(self, reports: Sequence[Report], *, size: int = 0) -> list[ReportAnswer]:
        """Writes the reports of one call. `size` is the number of bytes in which they were sent."""
        return await (self._large if size > LARGE else self._many)(reports)

    async def close(self) -> None:
        """Answers all calls that were made, and then returns."""
        await self._many.close()
        await self._large.close()
