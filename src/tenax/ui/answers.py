"""Answers requests for pages, parts of pages, live updates and actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response

from tenax.engine.engine import Engine
from tenax.errors import Forbidden, TenaxError, Unauthorized, Unreachable
from tenax.ui.dashboard import SIGN_IN, Dashboard, Visitor
from tenax.ui.live.stream import LiveStream
from tenax.ui.live.topics import Subject

POLICY = (
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'; "
    "img-src 'self' data:"
)
HEADERS = {
    "content-security-policy": POLICY,
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
    "vary": "HX-Request",
}
NOTICES = "#notices"
"""The element that shows the errors of requests that htmx makes."""
DIALOG_NOTICES = "#dialog-notices"
"""The same in an open dialog, which covers the page."""
TITLES = {
    400: "The request is wrong",
    403: "You may not do this",
    404: "There is no such page",
    405: "This cannot be done here",
    409: "This cannot be done now",
    413: "This is too large",
    422: "The request is wrong",
    503: "The server cannot answer now",
}


def dashboard(request: HTTPConnection) -> Dashboard:
    found: Dashboard = request.app.state.dashboard
    return found


def engine(request: HTTPConnection) -> Engine:
    return dashboard(request).engine


def visitor(request: HTTPConnection) -> Visitor:
    found: Visitor = request.scope["visitor"]
    return found


def actor(request: HTTPConnection) -> str:
    """Returns the name under which the events record an action of this request."""
    return visitor(request).principal.name


def is_htmx(request: HTTPConnection) -> bool:
    """Returns whether htmx asks for a part of a page. A page that the browser shows whole has a false here."""
    return "hx-request" in request.headers and "hx-history-restore-request" not in request.headers


def values_of(request: HTTPConnection) -> dict[str, Any]:
    """Returns the values that every template of a page has."""
    return _values(dashboard(request), request.url.path, request.scope.get("visitor"))


def _values(of: Dashboard, path: str, someone: Visitor | None) -> dict[str, Any]:
    return {
        "path": path,
        "visitor": someone,
        "may_act": someone is not None and someone.may_act,
        "is_admin": someone is not None and someone.is_admin,
        "form_token": someone.form_token if someone else "",
        "pages": [
            page
            for page in of.pages
            if page.title and someone is not None and (someone.is_admin or not page.admin_only)
        ],
        "live": None,
    }


def answer_page(
    request: Request, template: str, *, status: int = 200, live: str | None = None, **values: Any
) -> Response:
    """Answers with a whole page. `live` is the address of its live updates."""
    all_of_them = values_of(request) | {"live": live} | values
    return html(dashboard(request).renderer.page(template, all_of_them), status)


def answer_dialog(request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
    """Answers with a form: its block `dialog` for htmx, which shows it in a dialog, else the page with the form."""
    all_of_them = values_of(request) | values
    if is_htmx(request):
        [block] = dashboard(request).renderer.blocks(template, ["dialog"], all_of_them).values()
        return html(block, status)
    return html(dashboard(request).renderer.page(template, all_of_them), status)


def answer_live(request: Request, subject: Subject) -> Response:
    """Answers with the live updates of a subject."""
    of = dashboard(request)

    async def may_read() -> bool:
        try:
            await of.admit(request.scope)
        except (Unauthorized, Forbidden):
            return False
        except Unreachable:
            pass  # the database is away, so nothing new is shown; the page says that
        return True

    return LiveStream(of.topics, of.long_polls, subject, may_read)


def answer_done(request: Request, target: str) -> Response:
    """Answers an action that was carried out: shows the page at `target`."""
    if is_htmx(request):
        return Response(status_code=204, headers={**HEADERS, "hx-redirect": target})
    return RedirectResponse(target, 303, headers=HEADERS)


def render_blocks(
    of: Dashboard, template: str, names: Sequence[str], values: Mapping[str, Any]
) -> dict[str, str]:
    """Renders blocks of a template for live updates. A block has the name of the id of its one element."""
    return of.renderer.blocks(template, names, values)


def html(text: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(text, status, headers={**HEADERS, **(headers or {})}, media_type="text/html")


def answer_error(of: Dashboard, request: HTTPConnection, error: TenaxError) -> Response:
    """Answers an error as a page, or as a notice on the page that has made the request by htmx. Leads to the sign-in if nobody is signed in."""
    if isinstance(error, Unauthorized):
        return _to_sign_in(request, error)
    status = error.http_status
    retry = {"retry-after": "1"} if isinstance(error, Unreachable) else {}
    values = _values(of, request.url.path, request.scope.get("visitor")) | {
        "title": TITLES.get(status, "The server failed on this request"),
        "error": error.problem(),
        "status": status,
    }
    if is_htmx(request):
        [notice] = of.renderer.blocks("error.html", ["notice"], values).values()
        is_in_dialog = request.headers.get("hx-target", "").endswith(DIALOG_NOTICES)
        shown = {"hx-retarget": DIALOG_NOTICES if is_in_dialog else NOTICES, "hx-reswap": "innerHTML"}
        return html(notice, status, {**retry, **shown})
    return html(of.renderer.page("error.html", values), status, retry)


def _to_sign_in(request: HTTPConnection, error: Unauthorized) -> Response:
    is_reading = request.scope["method"] in ("GET", "HEAD")
    if is_htmx(request):
        address = f"{SIGN_IN}?next={quote(_shown_path(request), safe='/')}"
        return html(error.message, 401, {"hx-redirect": address})
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(
        f"{SIGN_IN}?next={quote(wanted if is_reading else '/', safe='/')}", 303, headers=HEADERS
    )


def _shown_path(request: HTTPConnection) -> str:
    """Returns the path of the page that has made a request by htmx."""
    _, _, rest = request.headers.get("hx-current-url", "").partition("://")
    return rest[rest.find("/") :] if "/" in rest else "/"
