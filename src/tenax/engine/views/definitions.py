"""Views of workflows: the list with figures, and one definition with its plan."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tenax.engine.context import EngineContext
from tenax.errors import NotFound, UsageError
from tenax.model.events import timestamp
from tenax.model.metrics.workflows import (
    LastExecution,
    WorkflowFigures,
    WorkflowPage,
    WorkflowRow,
    WorkflowVersion,
)
from tenax.model.source.findings import shorten
from tenax.policy.plan import Plan
from tenax.store import service
from tenax.store.fleet.workflow_pauses import load_pauses
from tenax.store.metrics import figures, workflows
from tenax.store.rows import WorkflowPause

LOOKED = 5_000  # newest executions among which the last ones of workflows are looked for
MOST_VERSIONS = 200  # versions of a workflow that are listed
SPAN = timedelta(days=1)
_HASH = re.compile(r"[0-9a-f]{6,64}")
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StoredDefinition:
    """Is one definition of a workflow, with its newest plan."""

    shown: WorkflowVersion
    plan: Plan
    versions: Sequence[WorkflowVersion]
    """All definitions of this name: the one that the name finds comes first, then the newest."""
    pause: WorkflowPause | None

    @property
    def is_newest(self) -> bool:
        return self.shown.hash == self.versions[0].hash


async def list_workflows_with_figures(
    context: EngineContext, *, after: str | None, limit: int, containing: str | None, span: timedelta = SPAN
) -> WorkflowPage:
    async with context.view_snapshot() as tx:
        rows = await workflows.list_page(tx, after, limit + 1, containing)
        shown = rows[:limit]
        names = [row["name"] for row in shown]
        until = await service.now(tx)
        since: datetime = until - span
        attempts = await workflows.sum_attempts(tx, since, until, names)
        executions = await workflows.sum_executions(tx, since, until, names)
        last = await workflows.find_last_executions(tx, names, LOOKED)
        counted_at = await figures.counted_at(tx)
    return WorkflowPage(
        workflows=[
            WorkflowRow(
                name=row["name"],
                newest=_version(row),
                paused_by=row["paused_by"],
                paused_why=row["paused_why"],
                figures=_figures(attempts.get(row["name"], {}), executions.get(row["name"], {})),
                last=_last(last.get(row["name"])),
            )
            for row in shown
        ],
        after=names[-1] if len(rows) > limit else None,
        counted_until=timestamp(counted_at),
    )


async def get_definition(context: EngineContext, name: str, content: str | None) -> StoredDefinition:
    """Reads the definition whose hash begins with `content`, or without it the one that the name finds now."""
    if content is not None and not _HASH.fullmatch(content):
        raise UsageError(
            f"{shorten(repr(content))} is not the hash of a version",
            remedy="write at least 6 of its hexadecimal digits",
        )
    async with context.view() as tx:
        found = await workflows.find_definition(tx, name, content)
        if found is None:
            which = f" with a version {content}" if content is not None else ""
            raise NotFound(
                f"there is no workflow {shorten(repr(name))}{which}",
                remedy="`tenax workflows` lists what is stored; `tenax store FILE` stores a definition",
            )
        plan = await context.plans.one(tx, found["plan_id"])
        listed = [_version(row) for row in await workflows.list_versions(tx, name, MOST_VERSIONS)]
        pause = (await load_pauses(tx)).get(name)
    return StoredDefinition(_version(found), plan, listed, pause if pause and pause.holds else None)


def _version(row: Row) -> WorkflowVersion:
    created_at = timestamp(row["created_at"])
    assert created_at is not None
    return WorkflowVersion(
        hash=row["hash"], version=row["version"], created_at=created_at, stored_at=timestamp(row["stored_at"])
    )


def _figures(attempts: Row, executions: Row) -> WorkflowFigures:
    succeeded, failed = attempts.get("succeeded", 0), attempts.get("failed", 0)
    recovered, again = attempts.get("recovered", 0), attempts.get("failed_again", 0)
    completed, lost = executions.get("completed", 0), executions.get("executions_failed", 0)
    return WorkflowFigures(
        started=executions.get("started", 0),
        completed=completed,
        failed=lost,
        success_rate=_share(completed, completed + lost),
        attempts=succeeded + failed,
        retries=executions.get("retries", 0),
        retry_success_rate=_share(recovered, recovered + again),
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _last(row: Row | None) -> LastExecution | None:
    if row is None:
        return None
    created_at = timestamp(row["created_at"])
    assert created_at is not None
    return LastExecution(
        id=row["id"], status=row["state"], created_at=created_at, finished_at=timestamp(row["finished_at"])
    )
