"""Translates files of other systems into workflow files."""

from __future__ import annotations

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from tenax.model.views import ImportedFile
from tenax.server.schema import import_requests as bodies
from tenax.server.schema.body import read_body
from tenax.server.schema.openapi import described
from tenax.server.schema.parameters import refuse_unknown_parameters
from tenax.server.schema.responses import answer_view
from tenax.server.services import engine

router = APIRouter(prefix="/v1/import", tags=["workflows"], dependencies=[Depends(refuse_unknown_parameters)])


@router.post("", **described(ImportedFile, body=bodies.IMPORT))
async def translate(request: Request) -> Response:
    """Translates a file of another system into workflow files.

    The answer has the files and a report, and nothing is stored. `system` is a name that `tenax import --from` takes.
    """
    body = await read_body(request, bodies.IMPORT)
    return answer_view(
        await engine(request).translate_file(body.source, filename=body.filename, system=body.system)
    )
