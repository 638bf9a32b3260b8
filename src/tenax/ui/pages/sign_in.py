"""Signs people in with a token or a one-time code, and out."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from urllib.parse import urlsplit

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tenax.errors import Forbidden, TenaxError, Unauthorized
from tenax.ui.answers import HEADERS, answer_page, dashboard
from tenax.ui.dashboard import SIGN_IN, Dashboard
from tenax.ui.forms import read_form
from tenax.web.auth import Principal
from tenax.web.sessions import SESSION_SECONDS

router = APIRouter()
sign_out_router = APIRouter()


@router.get(SIGN_IN)
async def form(request: Request, code: str = "", next: str = "/") -> Response:  # noqa: A002 -- its name in the address
    """Shows the form. A code in the address is sent by the form too: a browser that only looks at an address does not use the code up.

    The text `page` tells this page from others, so that it can send its code again. The address does not have it."""
    return _answer_form(request, code=code, target=_local(next))


@router.post(SIGN_IN)
async def sign_in(request: Request) -> Response:
    """Starts a session with the token or the code of the form."""
    fields = await read_form(request)
    target = _local(fields.get("next", "/"))
    try:
        principal = await _principal(request, fields)
    except (Unauthorized, Forbidden) as error:
        return _answer_form(request, target=target, error=error)
    assert principal.token_id is not None
    sessions = dashboard(request).sessions
    answer = RedirectResponse(target, 303, headers=HEADERS)
    _set_cookie(request, answer, sessions.cookie(sessions.start(principal.token_id)), SESSION_SECONDS)
    return answer


@sign_out_router.post("/sign-out")
async def sign_out(request: Request) -> Response:
    """Removes the session from the browser."""
    answer = RedirectResponse(SIGN_IN, 303, headers=HEADERS)
    _set_cookie(request, answer, "", 0)
    return answer


async def _principal(request: Request, fields: Mapping[str, str]) -> Principal:
    if code := fields.get("code", ""):
        return await _of_code(dashboard(request), code, fields.get("page", ""))
    token = fields.get("token", "").strip()
    if not token:
        raise Unauthorized("the token is missing", remedy="paste a token into the field")
    principal = await dashboard(request).authenticator.with_token(token)
    if principal.role == "worker":
        raise Forbidden(
            "this is a token of a worker, and workers do not sign in",
            remedy="make one for yourself: tenax token create NAME --role viewer",
        )
    return principal


async def _of_code(here: Dashboard, code: str, page: str) -> Principal:
    """Uses a code. If the database cannot be asked now, the code stays good."""
    token_id = here.codes.take(code, page)
    try:
        principal = None if token_id is None else await here.authenticator.with_id(token_id)
    except BaseException:
        here.codes.give_back(code)
        raise
    if principal is None:
        raise Unauthorized(
            "this link has been used, or is too old",
            remedy="sign in with a token, or restart the server: it prints a new link",
        )
    return principal


def _answer_form(
    request: Request, *, target: str, code: str = "", error: TenaxError | None = None
) -> Response:
    here = dashboard(request)
    return answer_page(
        request,
        "sign_in.html",
        status=200 if error is None else error.http_status,
        title="Sign in",
        code=code,
        page=secrets.token_urlsafe(12),
        target=target,
        error=None if error is None else error.problem(),
        form_token=here.sessions.form_token(None),
    )


def _set_cookie(request: Request, answer: Response, value: str, seconds: int) -> None:
    """Sets the cookie. It is `Lax`, so that a link to a page in a chat or a mail opens the page: opening a page changes nothing, and forms
    are checked on their own."""
    answer.set_cookie(
        dashboard(request).sessions.cookie_name,
        value,
        max_age=seconds,
        httponly=True,
        samesite="lax",
        secure=_is_https(request),
    )


def _is_https(request: Request) -> bool:
    """Returns whether the browser speaks https, with this server or with the proxy before it. The browser itself says so in `Origin`."""
    origin = request.headers.get("origin", "")
    return request.url.scheme == "https" or origin.startswith("https://")


def _local(target: str) -> str:
    """Returns the path to go to after the sign-in. Anything but a path of this server becomes `/`."""
    parts = urlsplit(target)
    is_path = target.startswith("/") and not target.startswith(("//", "/\\")) and target.isprintable()
    return target if is_path and not parts.scheme and not parts.netloc and "\\" not in target else "/"
