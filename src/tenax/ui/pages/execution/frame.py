"""Prepares the head and the tabs that all pages of one execution have."""

from __future__ import annotations

from typing import Any

from tenax.engine.engine import Engine
from tenax.model.diagnosis import Diagnosis
from tenax.model.execution_views import Execution
from tenax.ui.pages.execution.links import step_address, tabs_of

FRAME = "executions/frame.html"


async def frame(
    engine: Engine, execution: Execution, tab: str | None = None, diagnosis: Diagnosis | None = None
) -> dict[str, Any]:
    """Returns the values of the frame. `tab` is the name of the current tab."""
    if execution.status == "paused" and diagnosis is None:
        diagnosis = await engine.diagnose_view(execution)
    return {
        "execution": execution,
        "title": f"{execution.workflow} {execution.id}",
        "tabs": tabs_of(execution.id),
        "tab": tab,
        "paused": _paused(execution, diagnosis),
        "parent_step": None
        if execution.parent is None
        else step_address(execution.parent.execution_id, execution.parent.step),
    }


def _paused(execution: Execution, diagnosis: Diagnosis | None) -> str | None:
    """Returns who paused a paused execution, and why."""
    if execution.status != "paused" or diagnosis is None:
        return None
    return next((door.reason for door in diagnosis.doors if door.door == "pause"), None)
