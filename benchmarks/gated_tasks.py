"""For `tenax worker benchmarks.gated_tasks`: the tasks, once the gate is open. The worker registers only after that.

What a worker imports is imported before: else those that start at once would be measured reading their modules.
"""

from __future__ import annotations

import uvloop  # noqa: F401 -- as said above

import benchmarks.tasks  # noqa: F401 -- imported for the tasks it registers
from benchmarks.gate import wait_at_gate

wait_at_gate()
