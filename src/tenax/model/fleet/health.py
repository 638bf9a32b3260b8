"""Defines the health of a worker: its own report, and the thresholds by which it is judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from msgspec import Meta

from tenax.model.wire_types import PLAIN

Health = Literal["healthy", "degraded", "unhealthy"]
HEALTHS: tuple[Health, ...] = get_args(Health)
"""All kinds of health, from best to worst."""

WorkerState = Literal["active", "draining", "paused", "gone"]
SERVER_ACTOR = "tenax:server"
"""The actor if the server itself drains or resumes a worker. No token can have this name."""
WORKER_STATES: tuple[WorkerState, ...] = get_args(WorkerState)


@dataclass(frozen=True, slots=True)
class HealthReport:
    """Is what a worker reports of itself with every heartbeat."""

    status: Health = "healthy"
    last_check: Annotated[str, Meta(max_length=100, pattern=PLAIN)] | None = None
    """The time of the report by the worker's clock, as RFC 3339."""
    consecutive_failures: int = 0
    total_executions: int = 0
    failed_executions: int = 0
    average_execution_time_ms: float = 0.0
    queue_depth: int = 0
    """The number of attempts that it has leased and not reported yet."""
    overdue: int = 0
    """The number of threads that outlived their attempt and still take up its slot."""


@dataclass(frozen=True, slots=True)
class HealthTerms:
    """Holds the thresholds of health. From each value on, a worker is degraded or unhealthy, as the field's name says."""

    unhealthy_silence: float = 30.0
    """Seconds since the last heartbeat."""
    degraded_failures: int = 3
    unhealthy_failures: int = 10
    """Failures in a row that count against the worker."""
    degraded_depth: int = 50
    unhealthy_depth: int = 100
    degraded_rate: float = 0.3
    unhealthy_rate: float = 0.7
    window: float = 300.0
    """Seconds over which the failure rate is computed."""
    min_runs: int = 20
    """The number of runs in the window below which the failure rate is ignored."""
    probing: bool = True
    probe_after: float = 60.0
    """Seconds after which an unhealthy worker gets one item as a probe."""
