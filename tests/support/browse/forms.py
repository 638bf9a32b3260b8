"""Fills in forms of the dashboard without a browser."""

from __future__ import annotations


def fields(form: str, **more: str) -> dict[str, str]:
    """Returns the fields of a form, with its text of the session."""
    token = form.partition('name="form_token" value="')[2].partition('"')[0]
    assert token, "this is no form"
    return {"form_token": token, **more}
