"""Draws an execution over time as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import run_async
from tenax.cli.flags import DEFAULT_TARGET, ExecutionId, TargetFlags
from tenax.cli.output import write_text
from tenax.drawing.timeline.execution_rows import timeline_of
from tenax.drawing.timeline.folded_items import fan_outs_of
from tenax.drawing.timeline.timeline_svg import draw_timeline
from tenax.model.execution_views import Event, Execution


def timeline(
    execution_id: ExecutionId,
    /,
    *,
    output: Annotated[str | None, Parameter(help="The file to write to. [stdout]")] = None,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Draw an execution over time as SVG: a bar for each attempt, in the colour of its failure's class.

    Waits in the queue, backoff and holds have bars of their own, long gaps are folded, and operators' actions are marked.
    """
    body, events = run_async(_read(where, execution_id))
    execution = msgspec.convert(body, Execution)
    described = timeline_of(execution, events=events, fan_outs=fan_outs_of(events))
    write_text(draw_timeline(described, standalone=True), output)


async def _read(where: TargetFlags, execution_id: int) -> tuple[dict[str, Any], Sequence[Event]]:
    async with open_backend(where.settings()) as backend:
        return await backend.get(execution_id), await backend.events(execution_id)
