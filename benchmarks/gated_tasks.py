"""For `tenax worker benchmarks.gated_tasks`: the tasks, once the gate is open. The worker registers only after that."""

from __future__ import annotations

import benchmarks.tasks  # noqa: F401 -- imported for the tasks it registers
from benchmarks.gate import wait_at_gate

wait_at_gate()
