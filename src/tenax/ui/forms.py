"""Reads the forms of the dashboard, and refuses those that its own pages have not made."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from urllib.parse import parse_qsl

from starlette.requests import Request

from tenax.errors import Forbidden, UsageError
from tenax.ui.answers import dashboard
from tenax.ui.dashboard import READING

FIELD = "form_token"
HEADER = "x-tenax-form-token"
MEDIA_TYPE = "application/x-www-form-urlencoded"
MOST_FIELDS = 1000


async def check_form(request: Request) -> None:
    """Refuses a form without the text of the person's session. Every router of the dashboard depends on this."""
    if request.method in READING:
        return
    someone = request.scope.get("visitor")
    if someone is not None and someone.is_program:
        return
    expected = someone.form_token if someone is not None else dashboard(request).sessions.form_token(None)
    given = request.headers.get(HEADER) or (await read_form(request)).get(FIELD, "")
    if not hmac.compare_digest(given.encode(), expected.encode()):
        raise Forbidden(
            "this form is not of your present session", remedy="reload the page, and send the form again"
        )


async def read_form(request: Request) -> Mapping[str, str]:
    """Returns the fields of a form. Of a field that was sent more than once it has the last value."""
    return dict(await read_fields(request))


async def read_fields(request: Request) -> list[tuple[str, str]]:
    """Returns the fields of a form in their order, with repeated ones."""
    media_type = request.headers.get("content-type", MEDIA_TYPE).partition(";")[0].strip().lower()
    if media_type != MEDIA_TYPE:
        raise UsageError(f"a form is {MEDIA_TYPE}, not {media_type[:100]}")
    try:
        text = (await request.body()).decode()
        return parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), max_num_fields=MOST_FIELDS)
    except ValueError as error:
        raise UsageError(f"the form cannot be read: {error}") from None


def required(form: Mapping[str, str], name: str, what: str) -> str:
    """Returns a field that may not be empty. `what` names it in the error: "a reason"."""
    if not (value := form.get(name, "").strip()):
        raise UsageError(f"{what} is missing", remedy=f"fill in {what}, and send the form again")
    return value
