"""A child that does not outlive its supervisor, even one that was killed with -9."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

SUPERVISOR = "TENAX_SUPERVISOR_PID"
"""Set by the supervisor in the environment of each of its children."""
_PR_SET_PDEATHSIG = 1


def environment_for_child() -> dict[str, str]:
    return {SUPERVISOR: str(os.getpid())}


def die_with_supervisor() -> None:
    """Called first thing in a child. The variable goes no further: what the child itself starts is its own affair."""
    supervisor = os.environ.pop(SUPERVISOR, None)
    if supervisor is None or not supervisor.isdigit():
        return
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != int(supervisor):  # it died before the line above
        os._exit(1)
