"""Lists the pages in the order of the navigation. A new page is one entry here."""

from __future__ import annotations

from tenax.ui.page import Page
from tenax.ui.pages import (
    audit,
    bulk,
    bulk_actions,
    dead_letters,
    executions,
    letter_actions,
    saved_views,
    schedules,
    sign_in,
    tokens,
)
from tenax.ui.pages.acting import actions, again, decisions, events
from tenax.ui.pages.execution import routes as execution
from tenax.ui.pages.fleet import queue_actions, queues, worker_actions, workers
from tenax.ui.pages.overview import overview
from tenax.ui.pages.workflows import listing, pausing, running, showing

PAGES = (
    Page("/", overview.router, title="Overview", key="o"),
    Page("/overview", overview.live_router),
    Page("/executions", executions.router, title="Executions", key="e"),
    Page("/executions", saved_views.router),
    Page("/executions", actions.router),
    Page("/executions", again.router),
    Page("/executions", events.router),
    Page("/executions", decisions.router),
    Page("/executions", execution.router),
    Page("/executions", execution.download_router),
    Page("/dead-letters", letter_actions.router),
    Page("/dead-letters", dead_letters.router, title="Dead letters", key="d"),
    Page("/bulk", bulk_actions.router),
    Page("/bulk", bulk.router, title="Bulk jobs", key="b"),
    Page("/workflows", listing.router, title="Workflows", key="f"),
    Page("/workflows", pausing.router),
    Page("/workflows", running.router),
    Page("/workflows", showing.router),
    Page("/schedules", schedules.router, title="Schedules", key="s"),
    Page("/workers", worker_actions.router),
    Page("/workers", workers.router, title="Workers", key="w"),
    Page("/queues", queue_actions.router),
    Page("/queues", queues.router, title="Queues", key="q"),
    Page("/audit", audit.router, title="Audit", key="a"),
    Page("/tokens", tokens.router, title="Tokens", key="t", admin_only=True),
    Page("/sign-in", sign_in.router),
    Page("/sign-out", sign_in.sign_out_router),
)
