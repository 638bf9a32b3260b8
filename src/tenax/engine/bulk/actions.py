"""Names the actions of bulk jobs, and applies them. Only this table knows which actions there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tenax.engine.context import EngineContext
from tenax.engine.operate.act import act
from tenax.engine.operate.bulk_mark import BulkMark
from tenax.engine.operate.operator_action import ActionRequest
from tenax.model.json_text import decode
from tenax.store.selection.bulk_jobs import RunningJob

REDRIVE = "redrive"


@dataclass(frozen=True, slots=True)
class BulkAction:
    """Describes an action on executions. `ends` is true if executions come to an end after it, so that a canary can wait for
    their ends."""

    ends: bool = True


ACTIONS: Mapping[str, BulkAction] = {
    "cancel": BulkAction(),
    "complete": BulkAction(),
    "fail": BulkAction(),
    "pause": BulkAction(ends=False),
    REDRIVE: BulkAction(),
    "reschedule": BulkAction(),
    "reset": BulkAction(),
    "resolve": BulkAction(),
    "resume": BulkAction(),
    "retry": BulkAction(),
}


async def apply_action(job: RunningJob, context: EngineContext, execution_id: int, mark: BulkMark) -> bool:
    """Applies the action of a bulk job to one execution, and marks its item in the same transaction. Returns False if
    there was nothing to do. Raises Conflict or UsageError if the action is not legal."""
    asked = ActionRequest(
        job.action,
        job.step,
        reason=job.reason,
        result=decode(job.result),
        has_result=job.result is not None,
        policy=decode(job.policy),
    )
    answer = await act(context, execution_id, asked, actor=job.started_by, mark=mark)
    return answer.changed
