"""Tests your own workflows and tasks with a real PostgreSQL, real workers, and a clock that jumps to the next retry.

The fixture `tenax` of the plugin for pytest is the usual way. `workbench` is for tests without pytest. The names are imported
when they are first used, since pytest imports this package in every run.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tenax.testing.bench import Workbench, workbench
    from tenax.testing.execution import ExecutionResult, cancelled, completed, failed
    from tenax.testing.injecting import InjectedFailure
    from tenax.testing.tester import AsyncTester, Tester

__all__ = [
    "AsyncTester",
    "ExecutionResult",
    "InjectedFailure",
    "Tester",
    "Workbench",
    "cancelled",
    "completed",
    "failed",
    "workbench",
]

_HOME = {
    "AsyncTester": "tenax.testing.tester",
    "ExecutionResult": "tenax.testing.execution",
    "InjectedFailure": "tenax.testing.injecting",
    "Tester": "tenax.testing.tester",
    "Workbench": "tenax.testing.bench",
    "cancelled": "tenax.testing.execution",
    "completed": "tenax.testing.execution",
    "failed": "tenax.testing.execution",
    "workbench": "tenax.testing.bench",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tenax.testing' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value
