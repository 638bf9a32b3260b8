"""Defines the tasks for `tenax worker benchmarks.gated_tasks`. The import waits at the gate, so the worker registers only after that.

It first imports the modules of a worker, so that reading them is not measured.
"""

from __future__ import annotations

import uvloop  # noqa: F401 -- as said above

import benchmarks.tasks  # noqa: F401 -- imported for the tasks it registers
from benchmarks.gate import wait_at_gate

wait_at_gate()
