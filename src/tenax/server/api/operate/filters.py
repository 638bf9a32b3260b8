"""Lists, saves and removes filters that have a name."""

from __future__ import annotations

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from tenax.model.filters.views import RemovedFilter, SavedFilter, SavedFilterAnswer
from tenax.server.schema import requests as bodies
from tenax.server.schema.body import read_body
from tenax.server.schema.openapi import described
from tenax.server.schema.parameters import FilterName, refuse_unknown_parameters
from tenax.server.schema.responses import answer_view
from tenax.server.services import actor, engine

router = APIRouter(prefix="/v1/filters", tags=["filters"], dependencies=[Depends(refuse_unknown_parameters)])


@router.get("", **described(list[SavedFilter]))
async def list_filters(request: Request) -> Response:
    """Lists the saved filters.

    They are in the order of their names.
    """
    return answer_view(await engine(request).filters.list())


@router.put("/{name}", **described(SavedFilterAnswer, body=bodies.FILTER))
async def save_filter(request: Request, name: FilterName) -> Response:
    """Saves a filter by name.

    An earlier filter of this name is replaced. `@NAME` in other filters stands for its terms.
    """
    body = await read_body(request, bodies.FILTER)
    return answer_view(await engine(request).filters.save(name, body.filter, actor=actor(request)))


@router.delete("/{name}", **described(RemovedFilter))
async def remove_filter(request: Request, name: FilterName) -> Response:
    """Removes a saved filter.

    Filters that name it are refused from now on.
    """
    return answer_view(await engine(request).filters.remove(name, actor=actor(request)))
