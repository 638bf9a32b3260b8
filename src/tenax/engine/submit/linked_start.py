"""Starts an action of a pack or a stored workflow by its name, on its own or as a retry of an execution that has ended. This
serves `POST /api/v1/executions` in the form of Attune."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tenax.engine.context import EngineContext
from tenax.engine.graph.start_execution import Start
from tenax.engine.packs.installed import find_action
from tenax.engine.submit.action_execution import is_in_installed_pack, is_installed_action, plan_of_action
from tenax.engine.submit.resolve_definitions import plans_of
from tenax.errors import Conflict, NotFound
from tenax.model.events.data import OperatorData
from tenax.model.wire import Submission
from tenax.policy.plan import Plan
from tenax.store.connect import Connection
from tenax.store.tables import executions
from tenax.store.tables.executions import StoredExecution


@dataclass(frozen=True, slots=True)
class WantedExecution:
    """Describes a requested execution of an action or of a stored workflow."""

    workflow: str
    """PACK.ACTION, or else the name of a stored workflow, or NAME@VERSION."""
    input: Mapping[str, Any] | None
    retry_of: int | None
    """The execution to repeat: an id of `ops.execution`, or the id of an execution."""
    actor: str
    reason: str


@dataclass(frozen=True, slots=True)
class LinkedExecution:
    """Names a new execution, the one that it repeats, and the first one of that chain."""

    id: int
    retry_of: int | None
    original_execution: int | None


async def linked_start(context: EngineContext, wanted: WantedExecution) -> Start:
    """Prepares an execution. If it repeats another one and no inputs are given, it has the inputs of that one."""
    plan, plan_id = await _plan_of(context, wanted.workflow)
    if wanted.retry_of is None:
        return Start(plan, plan_id, await context.reading.check(plan.workflow, dict(wanted.input or {})))
    async with context.transaction() as tx:
        retried = await _retried(tx, wanted.retry_of)
    if retried.finished_at is None:
        raise Conflict(
            f"execution {retried.id} is {retried.state}: only a finished one can be run anew",
            remedy=f"POST /v1/executions/{retried.id}/retry starts its waiting retries now",
        )
    if retried.workflow != plan.workflow.name:
        raise Conflict(
            f"`retry_of` names execution {retried.id}, which ran workflow {retried.workflow}, not {plan.workflow.name}",
            remedy=f"set `action_ref` to {retried.workflow}",
        )
    values = (retried.input or {}) if wanted.input is None else dict(wanted.input)
    return Start(
        plan,
        plan_id,
        await context.reading.check(plan.workflow, values),
        retry_of=retried.id,
        original_execution=retried.original_execution or retried.id,
        operator=OperatorData(action="retry", actor=wanted.actor, reason=wanted.reason),
    )


async def _plan_of(context: EngineContext, name: str) -> tuple[Plan, int]:
    """Returns the plan of an action of a pack. If there is none of this name, returns that of a stored workflow."""
    if await is_installed_action(context, name):
        entry = await plan_of_action(context, name)
        return entry.plan, entry.plan_id
    try:
        [found] = await plans_of(context, [Submission(workflow=name)])
    except NotFound as error:
        if await is_in_installed_pack(context, name):
            await find_action(context, name)  # says which actions the pack has
        raise NotFound(
            f"{error.message}, and no action of an installed pack",
            remedy="`tenax workflows` and `tenax action list` list what there is",
        ) from error
    return found


async def _retried(tx: Connection, number: int) -> StoredExecution:
    """Finds the execution that `retry_of` means: that of an attempt (`ops.execution.id`), or that with this id."""
    of_attempt, of_execution = await executions.find_retried_execution(tx, number)
    if of_attempt is not None and of_execution is not None and of_attempt != of_execution:
        raise Conflict(
            f"`retry_of`: {number} is an attempt of execution {of_attempt}, and the id of another execution",
            remedy=f"POST /v1/executions/{of_attempt}/retry or POST /v1/executions/{of_execution}/retry",
        )
    execution_id = of_attempt or of_execution
    row = None if execution_id is None else await executions.get_execution(tx, execution_id)
    if row is None:
        raise NotFound(
            f"`retry_of`: there is no attempt and no execution {number}",
            remedy="`select id, execution_id from ops.execution` lists the attempts, `tenax list` the executions",
        )
    return row
