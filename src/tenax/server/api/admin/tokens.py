"""Lists, creates and revokes tokens over HTTP. Only admins may call these routes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.requests import Request
from starlette.responses import Response

from tenax.model.events import timestamp
from tenax.server.schema import requests as bodies
from tenax.server.schema.body import read_body
from tenax.server.schema.openapi import described
from tenax.server.schema.responses import NewToken, TokenInfo, answer_view
from tenax.server.services import actor, engine, services
from tenax.store.fleet import tokens

router = APIRouter(prefix="/v1/tokens", tags=["tokens"])


@router.get("", **described(list[TokenInfo]))
async def list_tokens(request: Request) -> Response:
    """Lists the tokens.

    Revoked tokens are listed too. The answer has no secrets.
    """
    async with engine(request).context.transaction() as tx:
        return answer_view([_info(token) for token in await tokens.list_tokens(tx)])


@router.post("", **described(NewToken, body=bodies.TOKEN, status=201))
async def create_token(request: Request) -> Response:
    """Creates a token.

    Its secret is in this answer and nowhere else.
    """
    wanted = await read_body(request, bodies.TOKEN)
    async with engine(request).context.transaction() as tx:
        token_id, secret = await tokens.create_token(tx, wanted.name, wanted.role, actor=actor(request))
    services(request).authenticator.forget()
    return answer_view(NewToken(id=token_id, name=wanted.name, role=wanted.role, token=secret), 201)


@router.post("/{token_id}/revoke", **described(list[TokenInfo]))
async def revoke_token(
    request: Request, token_id: Annotated[int, Path(ge=1, le=tokens.LARGEST_ID)]
) -> Response:
    """Revokes a token.

    This server refuses it at once, and other servers within seconds.
    """
    async with engine(request).context.transaction() as tx:
        revoked = await tokens.revoke_token(tx, token_id, actor=actor(request))
    services(request).authenticator.forget()
    return answer_view([_info(token) for token in revoked])


def _info(token: tokens.Token) -> TokenInfo:
    created_at = timestamp(token.created_at)
    assert created_at is not None
    return TokenInfo(
        id=token.id,
        name=token.name,
        role=token.role,
        created_at=created_at,
        revoked_at=timestamp(token.revoked_at),
    )
