"""Finds likely mistakes in workflow files."""

from __future__ import annotations

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from tenax.model.views import LintReport
from tenax.server.schema import import_requests as bodies
from tenax.server.schema.body import read_body
from tenax.server.schema.openapi import described
from tenax.server.schema.parameters import refuse_unknown_parameters
from tenax.server.schema.responses import answer_view
from tenax.server.services import engine

router = APIRouter(prefix="/v1/lint", tags=["workflows"], dependencies=[Depends(refuse_unknown_parameters)])


@router.post("", **described(LintReport, body=bodies.LINT))
async def lint(request: Request) -> Response:
    """Looks a workflow file over with the rules of `tenax lint`.

    Nothing is stored. A file that is not valid has its errors in the answer, with the code `TX000`.
    """
    body = await read_body(request, bodies.LINT)
    return answer_view(await engine(request).lint(body.source, filename=body.filename))
