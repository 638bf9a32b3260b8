"""Works on the running bulk jobs, on the leading server only.

A server that has lost the lead may still work on them for a moment. That is harmless: the mark of an item and its action are
one transaction, so each item is acted on once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

import structlog

from tenax.engine.bulk.actions import REDRIVE, apply_action
from tenax.engine.bulk.redrive import redrive_items
from tenax.engine.context import EngineContext
from tenax.engine.operate.bulk_mark import BulkMark, NotMarked
from tenax.errors import Busy, TenaxError, Unreachable
from tenax.model.filters.parse import parse_filter
from tenax.store.selection import bulk_jobs
from tenax.store.selection.bulk_jobs import BulkItem, CanaryCounts, RunningJob

AT_ONCE = 100
"""Items of a job that are acted on before the next job has its turn."""
LOOK = 0.25
"""Seconds between two looks while a job runs."""
IDLE_LOOK = 1.0
"""Seconds between two looks while no job runs."""
PREVIEW_KEPT = 86_400.0
"""Seconds after which a preview that nobody started is forgotten."""
MAX_PREVIEWS = 20
"""Previews of one actor that are kept. A preview may have 200,000 rows."""
FAILURES = ("action_error", "queue_expired", "step_retry_exhausted", "step_failed_terminal", "item_failed")
"""The events that show that an execution of a canary has failed again."""
_log = structlog.get_logger("tenax.bulk")


class BulkRunner:
    def __init__(self, context: EngineContext, leads: Callable[[], bool]) -> None:
        self._context = context
        self._leads = leads
        self._news = asyncio.Event()

    def wake(self) -> None:
        """Looks at the jobs now."""
        self._news.set()

    async def run(self) -> None:
        """Works on jobs while this server leads."""
        while True:
            pause = IDLE_LOOK
            if self._leads():
                try:
                    jobs, acted = await self.work()
                    pause = 0.0 if acted else LOOK if jobs else IDLE_LOOK
                except Unreachable as error:
                    _log.warning("bulk jobs could not go on now; they are tried again", error=str(error))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._news.wait()
            self._news.clear()

    async def work(self) -> tuple[int, int]:
        """Gives each running job a turn. Returns the number of jobs, and of executions that were acted on or closed."""
        async with self._context.transaction() as tx:
            await bulk_jobs.forget_previews(tx, PREVIEW_KEPT, MAX_PREVIEWS)
            jobs = await bulk_jobs.find_running_jobs(tx, AT_ONCE)
        acted = 0
        for job in jobs:
            try:
                acted += await self._advance(job)
            except Unreachable:
                raise
            except TenaxError as error:
                await self._stop(job, f"it cannot go on: {error.message}")
        return len(jobs), acted

    async def _advance(self, job: RunningJob) -> int:
        allowed = job.allowed
        if job.canary is not None and job.canary_state == "open":
            left = await self._look_at_canary(job, job.canary)
            if left is None:
                return 0
            allowed = min(allowed, left)
        if not allowed:
            return 0
        async with self._context.transaction() as tx:
            items = await bulk_jobs.next_items(tx, job.id, allowed)
        if not items:
            await self._complete(job)
            return 0
        return await self._act(job, items)

    async def _act(self, job: RunningJob, items: list[BulkItem]) -> int:
        """Acts on items that the filter still selects, and closes the others."""
        if job.action == REDRIVE:
            turn = await redrive_items(self._context, job, items)
            await self._close(job, turn.skipped, turn.failed)
            return len(items) - turn.busy
        async with self._context.transaction() as tx:
            chosen = parse_filter(job.filter, stored=True)
            matching = await bulk_jobs.find_matching(tx, [item.execution_id for item in items], chosen)
        skipped = {
            item.n: "the filter no longer selects it" for item in items if item.execution_id not in matching
        }
        failed: dict[int, str] = {}
        closed = len(skipped)
        try:
            for item in items:
                if item.n not in skipped:
                    closed += await self._act_on(job, item, skipped, failed)
        except NotMarked:
            _log.info("a bulk job was stopped, or another server works on it", job=job.id)
        finally:
            await self._close(job, skipped, failed)
        return closed

    async def _act_on(
        self, job: RunningJob, item: BulkItem, skipped: dict[int, str], failed: dict[int, str]
    ) -> bool:
        """Acts on an execution. Returns False if it is locked for too long: it stays pending, and holds up no other one."""
        try:
            if not await apply_action(job, self._context, item.execution_id, BulkMark(job.id, (item.n,))):
                skipped[item.n] = "it was so already"
        except Busy as error:
            _log.warning(
                "an execution is busy; a bulk job tries it again",
                job=job.id,
                execution_id=item.execution_id,
                error=str(error),
            )
            return False
        except (NotMarked, Unreachable):
            raise
        except TenaxError as error:
            skipped[item.n] = error.message
        except Exception as error:  # noqa: BLE001 -- the fault, whatever it is, concerns this execution only
            _log.exception("a bulk action failed", job=job.id, execution_id=item.execution_id)
            failed[item.n] = f"{type(error).__name__}: {error}"
        return True

    async def _close(self, job: RunningJob, skipped: dict[int, str], failed: dict[int, str]) -> None:
        if skipped or failed:
            async with self._context.transaction() as tx:
                await bulk_jobs.close_items(tx, job.id, "skipped", skipped)
                await bulk_jobs.close_items(tx, job.id, "failed", failed)

    async def _complete(self, job: RunningJob) -> None:
        async with self._context.transaction() as tx:
            row = await bulk_jobs.lock_job(tx, job.id)
            if row is not None and row["state"] == "running":
                await bulk_jobs.change_job(tx, job.id, "completed", canary_state=row["canary_state"])
                _log.info("a bulk job is complete", job=job.id, action=job.action, executions=row["total"])

    async def _look_at_canary(self, job: RunningJob, canary: int) -> int | None:
        """Returns the number of items that the job may act on now. Returns None if it must wait or has stopped."""
        async with self._context.transaction() as tx:
            if job.action == REDRIVE:
                counts = await bulk_jobs.look_at_letters_canary(tx, job.id, canary)
            else:
                counts = await bulk_jobs.look_at_canary(tx, job.id, canary, FAILURES)
            has_more = bool(await bulk_jobs.next_items(tx, job.id, 1))
        if counts.acted < canary and has_more:
            return canary - counts.acted
        assert job.max_failed is not None
        if (share := _share(counts)) > job.max_failed:
            what = "dead letters" if job.action == REDRIVE else "executions"
            note = (
                f"its canary failed: {counts.failed:,} of {counts.acted:,} {what} failed"
                f" ({share:.0f} %), and {job.max_failed:g} % may"
            )
            await self._stop(job, note, "failed")
            return None
        if counts.settled < counts.acted:
            return None
        await self._pass_canary(job)
        return AT_ONCE

    async def _stop(self, job: RunningJob, note: str, verdict: str | None = None) -> None:
        """Stops a job for a reason of the server. `verdict` is the result of the canary."""
        async with self._context.transaction() as tx:
            row = await bulk_jobs.lock_job(tx, job.id)
            if row is not None and row["state"] == "running":
                canary_state = verdict or row["canary_state"]
                await bulk_jobs.change_job(tx, job.id, "stopped", note=note, canary_state=canary_state)
                _log.warning("a bulk job stopped", job=job.id, reason=note)

    async def _pass_canary(self, job: RunningJob) -> None:
        async with self._context.transaction() as tx:
            row = await bulk_jobs.lock_job(tx, job.id)
            if row is not None and row["state"] == "running":
                await bulk_jobs.change_job(tx, job.id, "running", canary_state="passed")


def _share(counts: CanaryCounts) -> float:
    """Returns the percentage of the canary's executions that failed."""
    return 100 * counts.failed / counts.acted if counts.acted else 0.0
