"""Drives an engine in the bench's own process, without workers, so that only its operations are timed."""

from __future__ import annotations

import asyncio
import time
import uuid
from dataclasses import dataclass

from benchmarks import workflows
from benchmarks.load import submit_all
from tenax.engine.engine import Engine
from tenax.model.attempt.outcome import Outcome
from tenax.model.wire import LeaseRequest, Report

SUCCEEDED = Outcome("succeeded")
_SLOTS = 100
_BATCH = 500
_PATIENCE = 10.0


@dataclass(frozen=True, slots=True)
class Rates:
    submitted: float
    """Submitted executions per second."""
    worked: float
    """Leased and reported executions per second."""


async def leased(engine: Engine, slots: int, *, outcome: Outcome = SUCCEEDED) -> list[Report]:
    """Leases all ready items, or waits for some. Returns their reports."""
    request = LeaseRequest("bench", str(uuid.uuid4()), slots, ("python",), wait=_PATIENCE)
    return [
        Report(a.execution_id, a.item_id, a.attempt, a.token, outcome, a.step)
        for a in await engine.lease(request)
    ]


async def drive(engine: Engine, jobs: int) -> Rates:
    """Submits no-op executions in batches, then leases and reports them a hundred at a time."""
    submitted = await submit_all(engine.submit, workflows.NOOP, jobs, batch=_BATCH)
    begun = time.perf_counter()
    await _work_off(engine, jobs)
    return Rates(submitted, jobs / (time.perf_counter() - begun))


async def _work_off(engine: Engine, jobs: int) -> None:
    """Leases the next hundred items while the last hundred are reported."""
    reports = await leased(engine, _SLOTS)
    taken = len(reports)
    while taken < jobs:
        following, _ = await asyncio.gather(leased(engine, _SLOTS), engine.report(reports))
        assert following, f"{taken} of {jobs} were leased"
        reports = following
        taken += len(following)
    await engine.report(reports)
