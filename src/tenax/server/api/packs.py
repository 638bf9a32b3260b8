"""Serves packs of actions: installs, lists, shows and removes them, and gives workers their contents."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path
from starlette.requests import Request
from starlette.responses import Response

from tenax.model.packs.archive import MAX_CHUNKS
from tenax.model.packs.names import MAX_PACK_NAME
from tenax.model.packs.views import InstalledPackAnswer, PackInfo, RemovedPack
from tenax.server.problems import UnsupportedBody
from tenax.server.schema.openapi import described
from tenax.server.schema.parameters import Plain, refuse_unknown_parameters
from tenax.server.schema.responses import answer_view
from tenax.server.services import actor, engine

ARCHIVE = "application/x-tar"
PackName = Annotated[str, Path(min_length=1, max_length=MAX_PACK_NAME, pattern="^[A-Za-z0-9_-]+$")]

router = APIRouter(tags=["packs"], dependencies=[Depends(refuse_unknown_parameters)])


@router.post("/v1/packs", **described(InstalledPackAnswer, raw=ARCHIVE, status=201))
async def install(request: Request, folder: Annotated[str | None, Plain] = None) -> Response:
    """Installs a pack.

    The body is an uncompressed tar of the pack's folder, and `folder` names the pack if its `pack.yaml` does not. An
    earlier pack of this name is replaced, but executions that use it go on with it.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != ARCHIVE:
        raise UnsupportedBody(
            f"the body is {media_type or 'of no type'}, not {ARCHIVE}",
            remedy=f"send an uncompressed tar of the pack's folder with Content-Type: {ARCHIVE}",
        )
    library = engine(request).packs
    installed = await library.install(request.stream(), folder=folder, actor=actor(request))
    return answer_view(installed, 201)


@router.get("/v1/packs", **described(list[PackInfo]))
async def list_packs(request: Request) -> Response:
    """Lists the installed packs.

    They are in the order of their names.
    """
    return answer_view(await engine(request).packs.list())


@router.get("/v1/packs/{name}", **described(PackInfo))
async def get_pack(request: Request, name: PackName) -> Response:
    """Shows an installed pack.

    It has the version, the size, the hash and the actions of the pack.
    """
    return answer_view(await engine(request).packs.get(name))


@router.delete("/v1/packs/{name}", **described(RemovedPack))
async def remove_pack(request: Request, name: PackName) -> Response:
    """Removes a pack.

    Steps cannot refer to its actions from now on. Executions that use it keep its content.
    """
    return answer_view(await engine(request).packs.remove(name, actor=actor(request)))


@router.get(
    "/v1/worker/packs/{content}/chunks/{number}",
    tags=["workers"],
    **described(None, raw_answer="application/octet-stream"),
)
async def get_chunk(
    request: Request,
    content: Annotated[str, Path(pattern="^[0-9a-f]{64}$")],
    number: Annotated[int, Path(ge=0, le=MAX_CHUNKS)],
) -> Response:
    """Returns a chunk of the content of a pack.

    The content is the tar in which the pack was installed. The chunk after the last one is empty.
    """
    chunk = await engine(request).packs.chunk(content, number)
    return Response(chunk, media_type="application/octet-stream")
