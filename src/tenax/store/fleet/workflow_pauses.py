"""Reads and writes the pauses of workflows, and the executions that were paused with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tenax.store.connect import Connection
from tenax.store.rows import WorkflowPause
from tenax.store.statements import sql


async def load_pauses(tx: Connection) -> dict[str, WorkflowPause]:
    """Returns the pauses of workflows by name, also those that are being ended."""
    return {row["workflow"]: WorkflowPause(**row) for row in await tx.fetch(sql("load_workflow_pauses"))}


async def knows_workflow(tx: Connection, name: str) -> bool:
    """Returns whether a definition of this name was stored or run."""
    return bool(await tx.fetchval(sql("knows_workflow"), name))


async def workflow_names(tx: Connection) -> list[str]:
    return [row["name"] for row in await tx.fetch(sql("names_of_workflows"))]


async def pause_workflow(tx: Connection, name: str, actor: str, reason: str | None) -> bool:
    """Pauses a workflow. Returns False if it is paused already."""
    return await tx.fetchval(sql("pause_workflow"), name, actor, reason) is not None


async def resume_workflow(tx: Connection, name: str, actor: str, reason: str | None) -> bool:
    """Lets a workflow go on. Returns False if it is not paused."""
    return await tx.fetchval(sql("resume_workflow"), name, actor, reason) is not None


async def find_running(tx: Connection, most: int) -> list[tuple[int, str]]:
    """Returns running executions of paused workflows that were not paused with them yet."""
    return [(row["id"], row["workflow"]) for row in await tx.fetch(sql("find_running_of_paused"), most)]


async def find_to_resume(tx: Connection, most: int) -> list[tuple[int, str]]:
    """Returns executions that were paused with a workflow which goes on again."""
    return [(row["id"], row["workflow"]) for row in await tx.fetch(sql("find_paused_with_workflow"), most)]


async def note_paused(tx: Connection, executions: Mapping[int, str]) -> None:
    """Notes the workflow with which each execution was paused."""
    await tx.execute(sql("note_paused"), list(executions), list(executions.values()))


async def forget_paused(tx: Connection, executions: Sequence[int]) -> None:
    await tx.execute(sql("forget_paused"), executions)


async def forget_pauses(tx: Connection) -> None:
    """Forgets the pauses that are over."""
    await tx.execute(sql("forget_workflow_pauses"))
