"""Defines the Python task of the demo."""

from __future__ import annotations

import os
import signal

from tenax import TaskContext, task


@task
def send_report(count: int, ctx: TaskContext) -> dict[str, object]:
    """Kills its own process in the first attempt: nothing is reported or cleaned up, as after a power cut."""
    if ctx.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"sent": f"{count} prices", "by_process": os.getpid(), "receipt": ctx.receipt}
