"""Names the types of steps, and says which of them workers run. It imports nothing else, so that workers can read it."""

from __future__ import annotations

from typing import Literal, get_args

StepType = Literal["python", "http", "process", "agent", "action", "sleep", "wait", "workflow"]
STEP_TYPES: tuple[StepType, ...] = get_args(StepType)
SERVER_TYPES: tuple[StepType, ...] = ("sleep", "wait", "workflow")
"""The types of steps that the server itself carries out. No worker leases them, and they take no slot."""
RUNTIMES: tuple[str, ...] = tuple(kind for kind in STEP_TYPES if kind not in SERVER_TYPES)
"""The types of steps that workers run. Each is the runtime that a worker offers for it."""
