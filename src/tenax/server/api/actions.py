"""Serves operators' actions on executions, steps and work items."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from tenax.engine.operate.operator_action import ActionRequest
from tenax.errors import UsageError
from tenax.model.views import ActionAnswer, RetryAnswer
from tenax.server.schema import requests as bodies
from tenax.server.schema.body import read_body
from tenax.server.schema.openapi import described
from tenax.server.schema.parameters import ExecutionId, refuse_unknown_parameters
from tenax.server.schema.responses import CancelAnswer, PauseAnswer, answer_view
from tenax.server.services import actor, engine

router = APIRouter(
    prefix="/v1/executions", tags=["executions"], dependencies=[Depends(refuse_unknown_parameters)]
)


async def _on_execution(request: Request, execution_id: int, action: str) -> bool:
    body = await read_body(request, bodies.OPERATION, empty=b"{}")
    asked = ActionRequest(action, body.step, body.item, body.reason)
    return (await engine(request).act(execution_id, asked, actor=actor(request))).changed


async def _on_items(
    request: Request, execution_id: int, action: str, body: bodies.Operation, **more: Any
) -> ActionAnswer:
    asked = ActionRequest(action, body.step, body.item, body.reason, **more)
    return await engine(request).act(execution_id, asked, actor=actor(request))


@router.post("/{execution_id}/cancel", **described(CancelAnswer, body=bodies.OPERATION, optional=True))
async def cancel(request: Request, execution_id: ExecutionId) -> Response:
    """Cancels an execution.

    Work that waits ends at once, and leases of running attempts are revoked.
    """
    changed = await _on_execution(request, execution_id, "cancel")
    return answer_view(CancelAnswer(id=execution_id, status="cancelled", changed=changed))


@router.post("/{execution_id}/pause", **described(PauseAnswer, body=bodies.OPERATION, optional=True))
async def pause(request: Request, execution_id: ExecutionId) -> Response:
    """Pauses an execution.

    The execution and its children start no more work until they are resumed. Running attempts may finish.
    """
    changed = await _on_execution(request, execution_id, "pause")
    return answer_view(PauseAnswer(id=execution_id, status="paused", changed=changed))


@router.post("/{execution_id}/resume", **described(PauseAnswer, body=bodies.OPERATION, optional=True))
async def resume(request: Request, execution_id: ExecutionId) -> Response:
    """Resumes a paused execution.

    The execution and its children go on.
    """
    changed = await _on_execution(request, execution_id, "resume")
    return answer_view(PauseAnswer(id=execution_id, status="running", changed=changed))


@router.post("/{execution_id}/retry", **described(RetryAnswer, body=bodies.RETRY, optional=True))
async def retry(request: Request, execution_id: ExecutionId) -> Response:
    """Retries an execution, a step or an item.

    Waiting retries run now, what failed gets one more attempt, and a failed execution runs again. With `new`, all of a
    finished execution runs again as a new one that is linked to it.
    """
    body = await read_body(request, bodies.RETRY, empty=b"{}")
    if not body.new:
        if body.input is not None:
            raise UsageError("`input` is for a new execution", remedy="send `new` as well")
        done = await _on_items(request, execution_id, "retry", body)
        return answer_view(
            RetryAnswer(
                id=done.id, created=False, status=done.status, steps=done.steps, items=done.items,
                reopened=done.reopened,
            )
        )  # fmt: skip
    if body.step is not None or body.item is not None:
        raise UsageError("`new` runs all of an execution", remedy="leave `step` and `item` out, or `new`")
    anew = await engine(request).run_anew(
        execution_id, actor=actor(request), reason=body.reason, input=body.input
    )
    return answer_view(anew)


@router.post("/{execution_id}/reset", **described(ActionAnswer, body=bodies.OPERATION))
async def reset(request: Request, execution_id: ExecutionId) -> Response:
    """Resets a step or an item.

    The count of attempts starts from 0 again, the time of `give_up_after` starts anew, and what failed runs again. A
    reason is required.
    """
    body = await read_body(request, bodies.OPERATION)
    return answer_view(await _on_items(request, execution_id, "reset", body))


@router.post("/{execution_id}/resolve", **described(ActionAnswer, body=bodies.OPERATION))
async def resolve(request: Request, execution_id: ExecutionId) -> Response:
    """Resolves a step or an item.

    Its work was done by hand: its result is null, and the steps that need it go on. A reason is required.
    """
    body = await read_body(request, bodies.OPERATION)
    return answer_view(await _on_items(request, execution_id, "resolve", body))


@router.post("/{execution_id}/complete", **described(ActionAnswer, body=bodies.COMPLETION))
async def complete(request: Request, execution_id: ExecutionId) -> Response:
    """Completes a step or an item with a result.

    The steps that need it go on. A reason is required.
    """
    body = await read_body(request, bodies.COMPLETION)
    done = await _on_items(request, execution_id, "complete", body, result=body.result, has_result=True)
    return answer_view(done)


@router.post("/{execution_id}/fail", **described(ActionAnswer, body=bodies.OPERATION))
async def fail(request: Request, execution_id: ExecutionId) -> Response:
    """Fails a step or an item.

    There is no retry, and its `on_failure` applies. A reason is required.
    """
    body = await read_body(request, bodies.OPERATION)
    return answer_view(await _on_items(request, execution_id, "fail", body))


@router.post("/{execution_id}/reschedule", **described(ActionAnswer, body=bodies.RESCHEDULING))
async def reschedule(request: Request, execution_id: ExecutionId) -> Response:
    """Reschedules waiting retries.

    They get these fields of a retry policy, which decide when they are due.
    """
    body = await read_body(request, bodies.RESCHEDULING)
    return answer_view(await _on_items(request, execution_id, "reschedule", body, policy=body.policy))
