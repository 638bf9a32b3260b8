"""Receives callbacks, by which the callees of async steps report outcomes. The receipt in the URL is the only authentication."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from starlette.requests import Request
from starlette.responses import Response

from tenax.engine.external.callbacks import check_receipt
from tenax.engine.slices import give_way_after
from tenax.model.attempt.callback import JSON, PROBLEM, read_callback
from tenax.model.wire_types import LARGEST_ATTEMPT
from tenax.server.schema import requests as bodies
from tenax.server.schema.openapi import described
from tenax.server.schema.parameters import (
    AttemptNumber,
    ExecutionId,
    ItemId,
    Plain,
    refuse_unknown_parameters,
)
from tenax.server.schema.responses import CallbackAnswer, answer_view
from tenax.server.services import engine
from tenax.web.auth import CALLBACKS

Receipt = Annotated[str, Path(max_length=200, pattern=r"^[0-9A-Za-z_-]+$")]

router = APIRouter(
    prefix=CALLBACKS.rstrip("/"), tags=["callbacks"], dependencies=[Depends(refuse_unknown_parameters)]
)


@router.post(
    "/{execution_id}/{item_id}/{attempt}/{receipt}",
    **described(CallbackAnswer, body=bodies.CALLBACK, media_types=(JSON, PROBLEM), optional=True),
)
async def call_back(
    request: Request,
    execution_id: ExecutionId,
    item_id: ItemId,
    attempt: AttemptNumber,
    receipt: Receipt,
    step: Annotated[str | None, Plain] = None,
    item: Annotated[int | None, Query(ge=0, le=LARGEST_ATTEMPT)] = None,
) -> Response:
    """Reports the outcome of an async step.

    The callee of the step sends this request, and the receipt in the URL authorises it. A callback that comes too late
    is recorded and changes nothing.
    """
    # The receipt is checked before the body is read.
    check_receipt(engine(request).context, execution_id, item_id, receipt)
    headers = request.headers
    # A callee may send back what it received. The secret of its own callback must not get into the result.
    body = await request.body()
    await give_way_after(len(body))
    body = body.replace(receipt.encode(), b"[receipt]")
    await engine(request).context.reading.check_values(body)
    outcome = read_callback(headers.get("content-type"), body, headers.get("retry-after"), datetime.now(UTC))
    await give_way_after(len(body))
    said = await engine(request).callback(
        execution_id, item_id, attempt, receipt, outcome, step=step, item=item
    )
    return answer_view(CallbackAnswer(status=said.status, verdict=said.verdict))
