"""Prepares the head and the tabs that all pages of one execution have."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Path, Query

from tenax.engine.engine import Engine
from tenax.model.execution_views import Execution
from tenax.model.wire_types import LARGEST_ATTEMPT
from tenax.store.fleet.tokens import LARGEST_ID

FRAME = "executions/frame.html"
FRAME_BLOCKS = ("execution_head",)
ExecutionId = Annotated[int, Path(ge=1, le=LARGEST_ID)]
StepName = Annotated[str | None, Query(max_length=1000)]
ItemNumber = Annotated[int | None, Query(ge=0, le=LARGEST_ATTEMPT)]
EventId = Annotated[int | None, Query(ge=1, le=LARGEST_ID)]


async def frame(engine: Engine, execution: Execution, tab: str | None = None) -> dict[str, Any]:
    """Returns the values of the frame. `tab` is the name of the current tab."""
    here = f"/executions/{execution.id}"
    paused = None
    if execution.status == "paused":
        doors = (await engine.diagnose(execution.id)).doors
        paused = next((door.reason for door in doors if door.door == "pause"), None)
    return {
        "execution": execution,
        "title": f"{execution.workflow} {execution.id}",
        "tabs": [
            ("Overview", here),
            ("Attempts", f"{here}/attempts"),
            ("Events", f"{here}/events"),
            ("Decisions", f"{here}/decisions"),
            ("Input & result", f"{here}/data"),
        ],
        "tab": tab,
        "paused": paused,
        "parent_step": None
        if execution.parent is None
        else f"/executions/{execution.parent.execution_id}/steps/{quote(execution.parent.step, safe='')}",
    }
