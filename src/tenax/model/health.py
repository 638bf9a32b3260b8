"""The health of a worker: what it says of itself, and the thresholds it is judged by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from msgspec import Meta

from tenax.model.wire_types import PLAIN

Health = Literal["healthy", "degraded", "unhealthy"]
HEALTHS: tuple[Health, ...] = get_args(Health)
"""From best to worst."""

WorkerState = Literal["active", "draining", "paused", "gone"]
SERVER_ACTOR = "tenax:server"
"""Who drains and resumes a worker, where no person does. Nobody else can have such a name."""
WORKER_STATES: tuple[WorkerState, ...] = get_args(WorkerState)


@dataclass(frozen=True, slots=True)
class HealthReport:
    """What a worker says of itself with every heartbeat."""

    status: Health = "healthy"
    last_check: Annotated[str, Meta(max_length=100, pattern=PLAIN)] | None = None
    """RFC 3339, by the worker's clock."""
    consecutive_failures: int = 0
    total_executions: int = 0
    failed_executions: int = 0
    average_execution_time_ms: float = 0.0
    queue_depth: int = 0
    """What it has been given and has not reported yet."""
    overdue: int = 0
    """Threads that outlived their attempt, and still take up its slot."""


@dataclass(frozen=True, slots=True)
class HealthTerms:
    """The thresholds of the contract's table. From each on, a worker is as bad as its name says."""

    unhealthy_silence: float = 30.0
    """Seconds since the last heartbeat."""
    degraded_failures: int = 3
    unhealthy_failures: int = 10
    """Failures in a row that speak of the worker."""
    degraded_depth: int = 50
    unhealthy_depth: int = 100
    degraded_rate: float = 0.3
    unhealthy_rate: float = 0.7
    window: float = 300.0
    """Seconds over which the rate is taken."""
    min_runs: int = 20
    """With fewer runs in the window, the rate says nothing."""
    probing: bool = True
    probe_after: float = 60.0
    """Seconds after which an unhealthy worker is given one item, to see."""
