"""Serves the actions of packs: lists and shows them, and runs one on its own."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path
from starlette.requests import Request
from starlette.responses import Response

from tenax.model.packs.views import PackActionInfo
from tenax.model.wire import Submitted
from tenax.server.schema import requests as bodies
from tenax.server.schema.body import read_body
from tenax.server.schema.openapi import described
from tenax.server.schema.parameters import Plain, refuse_unknown_parameters
from tenax.server.schema.responses import answer_view
from tenax.server.services import engine

ActionRef = Annotated[str, Path(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]

router = APIRouter(prefix="/v1/actions", tags=["packs"], dependencies=[Depends(refuse_unknown_parameters)])


@router.get("", **described(list[PackActionInfo]))
async def list_actions(request: Request, pack: Annotated[str | None, Plain] = None) -> Response:
    """Lists the actions of the installed packs.

    With `pack`, it lists the actions of this pack only.
    """
    return answer_view(await engine(request).packs.actions(pack))


@router.get("/{ref}", **described(PackActionInfo))
async def get_action(request: Request, ref: ActionRef) -> Response:
    """Shows an action, with its parameters.

    `ref` is PACK.ACTION.
    """
    return answer_view(await engine(request).packs.action(ref))


@router.post("/{ref}/run", **described(Submitted, body=bodies.ACTION_RUN, optional=True, status=201))
async def run_action(request: Request, ref: ActionRef) -> Response:
    """Runs an action as an execution of its own.

    Its parameters are the inputs of the execution. They are checked now.
    """
    wanted = await read_body(request, bodies.ACTION_RUN, empty=b"{}")
    return answer_view(await engine(request).run_action(ref, wanted.params, key=wanted.key), 201)
