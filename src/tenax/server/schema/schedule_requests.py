"""Declares the body that creates a schedule."""

from __future__ import annotations

from typing import Any

from tenax.model.wire_types import Name
from tenax.server.schema.body import Body
from tenax.server.schema.requests import PersonBody


class ScheduleWanted(PersonBody, frozen=True):
    """Creates a schedule. `schedule` has the keys of `schedule` in a workflow file. Without `workflow`, it starts the stored
    workflow of its own name."""

    schedule: dict[str, Any]
    workflow: Name | None = None


SCHEDULE = Body(ScheduleWanted)
