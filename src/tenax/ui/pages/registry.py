"""Lists the pages in the order of the navigation. A new page is one entry here."""

from __future__ import annotations

from tenax.ui.page import Page
from tenax.ui.pages import execution_actions, executions, sign_in
from tenax.ui.pages.execution import routes as execution

HOME = "/executions"
"""The page that `/` leads to."""

PAGES = (
    Page("/executions", executions.router, title="Executions", key="e"),
    Page("/executions", execution_actions.router),
    Page("/executions", execution.router),
    Page("/executions", execution.download_router),
    Page("/sign-in", sign_in.router),
    Page("/sign-out", sign_in.sign_out_router),
)
