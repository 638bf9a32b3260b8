"""Lists the pages in the order of the navigation. A new page is one entry here."""

from __future__ import annotations

from tenax.ui.page import Page
from tenax.ui.pages import executions, sign_in
from tenax.ui.pages.acting import actions, again, decisions, events

HOME = "/executions"
"""The page that `/` leads to."""

PAGES = (
    Page("/executions", executions.router, title="Executions", key="e"),
    Page("/executions", actions.router),
    Page("/executions", again.router),
    Page("/executions", events.router),
    Page("/executions", decisions.router),
    Page("/sign-in", sign_in.router),
    Page("/sign-out", sign_in.sign_out_router),
)
