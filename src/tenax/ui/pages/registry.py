"""Lists the pages in the order of the navigation. A new page is one entry here."""

from __future__ import annotations

from tenax.ui.page import Page
from tenax.ui.pages import (
    bulk,
    bulk_actions,
    dead_letters,
    executions,
    letter_actions,
    saved_views,
    sign_in,
)
from tenax.ui.pages.acting import actions, again, decisions, events
from tenax.ui.pages.execution import routes as execution

HOME = "/executions"
"""The page that `/` leads to."""

PAGES = (
    Page("/executions", executions.router, title="Executions", key="e"),
    Page("/executions", saved_views.router),
    Page("/dead-letters", letter_actions.router),
    Page("/dead-letters", dead_letters.router, title="Dead letters", key="d"),
    Page("/bulk", bulk_actions.router),
    Page("/bulk", bulk.router, title="Bulk jobs", key="b"),
    Page("/executions", actions.router),
    Page("/executions", again.router),
    Page("/executions", events.router),
    Page("/executions", decisions.router),
    Page("/executions", execution.router),
    Page("/executions", execution.download_router),
    Page("/sign-in", sign_in.router),
    Page("/sign-out", sign_in.sign_out_router),
)
