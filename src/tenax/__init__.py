"""Tenax: durable workflows and tasks on PostgreSQL, whose heart is the retry.

The public names are imported when they are first used, so that `import tenax` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tenax.app.application import SyncTenax, Tenax
    from tenax.builder.workflow import Workflow
    from tenax.errors import InvalidValue, TaskFailed, TenaxError
    from tenax.model.wire import Submission, Submitted
    from tenax.sdk.client import Client
    from tenax.sdk.context import TaskContext, context
    from tenax.sdk.outcomes import Cancelled, Fatal, NotCompleted, Retry, Snooze
    from tenax.sdk.sync_client import SyncClient
    from tenax.sdk.task import Task, task
    from tenax.sdk.tasks.handles import Handle, SyncHandle
    from tenax.sdk.tasks.retry_policy import RetryPolicy, Rule

__version__ = "0.1.0"

__all__ = [
    "Cancelled",
    "Client",
    "Fatal",
    "Handle",
    "InvalidValue",
    "NotCompleted",
    "Retry",
    "RetryPolicy",
    "Rule",
    "Snooze",
    "Submission",
    "Submitted",
    "SyncClient",
    "SyncHandle",
    "SyncTenax",
    "Task",
    "TaskContext",
    "TaskFailed",
    "Tenax",
    "TenaxError",
    "Workflow",
    "__version__",
    "context",
    "task",
]

_HOME = {
    "Cancelled": "tenax.sdk.outcomes",
    "Client": "tenax.sdk.client",
    "Fatal": "tenax.sdk.outcomes",
    "Handle": "tenax.sdk.tasks.handles",
    "InvalidValue": "tenax.errors",
    "NotCompleted": "tenax.sdk.outcomes",
    "Retry": "tenax.sdk.outcomes",
    "RetryPolicy": "tenax.sdk.tasks.retry_policy",
    "Rule": "tenax.sdk.tasks.retry_policy",
    "Snooze": "tenax.sdk.outcomes",
    "Submission": "tenax.model.wire",
    "Submitted": "tenax.model.wire",
    "SyncClient": "tenax.sdk.sync_client",
    "SyncHandle": "tenax.sdk.tasks.handles",
    "SyncTenax": "tenax.app.application",
    "Task": "tenax.sdk.task",
    "TaskContext": "tenax.sdk.context",
    "TaskFailed": "tenax.errors",
    "Tenax": "tenax.app.application",
    "TenaxError": "tenax.errors",
    "Workflow": "tenax.builder.workflow",
    "context": "tenax.sdk.context",
    "task": "tenax.sdk.task",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tenax' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
