"""Lists the pages in the order of the navigation. A new page is one entry here."""

from __future__ import annotations

from tenax.ui.page import Page
from tenax.ui.pages import execution_actions, executions, sign_in
from tenax.ui.pages.fleet import queue_actions, queues, worker_actions, workers
from tenax.ui.pages.overview import overview

PAGES = (
    Page("/", overview.router, title="Overview", key="o"),
    Page("/overview", overview.live_router),
    Page("/executions", executions.router, title="Executions", key="e"),
    Page("/executions", execution_actions.router),
    Page("/workers", worker_actions.router),
    Page("/workers", workers.router, title="Workers", key="w"),
    Page("/queues", queue_actions.router),
    Page("/queues", queues.router, title="Queues", key="q"),
    Page("/sign-in", sign_in.router),
    Page("/sign-out", sign_in.sign_out_router),
)
