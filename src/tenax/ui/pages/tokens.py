"""Lists, creates and revokes tokens. Only admins may open these pages."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.requests import Request
from starlette.responses import Response

from tenax.errors import NotFound
from tenax.model.events import timestamp
from tenax.store.fleet.tokens import LARGEST_ID, ROLES, Token
from tenax.ui.answers import actor, answer_dialog, answer_done, answer_page, dashboard, visitor
from tenax.ui.forms import read_form, required

MEANINGS = {
    "viewer": "reads every page",
    "operator": "also acts on executions and the fleet",
    "worker": "leases and reports work, and does not sign in",
    "admin": "also manages tokens and packs",
}
"""What each role may do, in the order in which the form offers them."""
router = APIRouter(prefix="/tokens")
TokenId = Annotated[int, Path(ge=1, le=LARGEST_ID)]


@router.get("")
async def show(request: Request) -> Response:
    """Lists the tokens: the live ones first, each with the newest first."""
    found = sorted(
        await dashboard(request).engine.tokens.list(), key=lambda one: (one.revoked_at is not None, -one.id)
    )
    own = visitor(request).principal.token_id
    return answer_page(
        request, "tokens/list.html", title="Tokens", tokens=[_shown(one) for one in found], own=own
    )


@router.get("/new")
async def create_form(request: Request) -> Response:
    assert set(MEANINGS) == set(ROLES)
    return answer_dialog(request, "tokens/create.html", title="Create a token", roles=MEANINGS)


@router.post("/new")
async def create(request: Request) -> Response:
    """Creates a token, and shows its secret. No other page ever shows it."""
    form = await read_form(request)
    name, role = required(form, "name", "a name"), required(form, "role", "a role")
    here = dashboard(request)
    token_id, secret = await here.engine.tokens.create(
        name, role, actor=actor(request), reason=required(form, "reason", "a reason")
    )
    here.authenticator.forget()
    answer = answer_dialog(
        request, "tokens/created.html", title="A new token", id=token_id, name=name, role=role, secret=secret
    )
    answer.headers.update({"hx-retarget": "#dialog", "hx-reswap": "innerHTML"})
    return answer


@router.get("/{token_id}/revoke")
async def revoke_form(request: Request, token_id: TokenId) -> Response:
    found = await dashboard(request).engine.tokens.list()
    token = next((one for one in found if one.id == token_id), None)
    if token is None:
        raise NotFound(f"there is no token {token_id}", remedy="the page /tokens lists the tokens")
    others = any(one.revoked_at is None and one.id != token_id for one in found)
    return answer_dialog(
        request,
        "tokens/revoke.html",
        title=f"Revoke the token {token.name}",
        token=_shown(token),
        is_own=token_id == visitor(request).principal.token_id,
        is_last=not others,
    )


@router.post("/{token_id}/revoke")
async def revoke(request: Request, token_id: TokenId) -> Response:
    """Revokes a token. This server refuses it at once, and with it all that are signed in by it."""
    here = dashboard(request)
    reason = required(await read_form(request), "reason", "a reason")
    await here.engine.tokens.revoke(token_id, actor=actor(request), reason=reason)
    here.authenticator.forget()
    return answer_done(request, "/tokens")


def _shown(token: Token) -> dict[str, object]:
    return {
        "id": token.id,
        "name": token.name,
        "role": token.role,
        "created_at": timestamp(token.created_at),
        "revoked_at": timestamp(token.revoked_at),
    }
