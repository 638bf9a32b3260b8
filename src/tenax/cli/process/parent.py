"""A child and its supervisor: it does not outlive one that was killed with -9, and says when it is ready."""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import sys
from collections.abc import Callable

from tenax.private_variables import unpack

SUPERVISOR = "TENAX_SUPERVISOR_PID"
READY_PIPE = "TENAX_READY_PIPE"
PRIVATE_PIPE = "TENAX_PRIVATE_PIPE"
"""Set where the private variables of the child come through its stdin. In its environment others could read them."""
LIFE = "TENAX_WORKER_LIFE"
_PR_SET_PDEATHSIG = 1


def environment_for_child(ready_pipe: int | None = None) -> dict[str, str]:
    own = {SUPERVISOR: str(os.getpid()), PRIVATE_PIPE: "stdin"}
    return own if ready_pipe is None else {**own, READY_PIPE: str(ready_pipe)}


def given_life() -> str | None:
    """Returns the life that the supervisor has given to this worker. The variable goes no further."""
    return os.environ.pop(LIFE, None)


def under_supervision() -> Callable[[], None]:
    """Called first thing in a process that may be a child. Returns what to call when it is ready.

    The variables go no further: what the child itself starts is its own affair.
    """
    supervisor, pipe = os.environ.pop(SUPERVISOR, ""), os.environ.pop(READY_PIPE, "")
    private = os.environ.pop(PRIVATE_PIPE, "")
    if not supervisor.isdigit():
        return lambda: None
    logging.getLogger(
        "tenax.settings"
    ).disabled = True  # the supervisor has said what is wrong with the variables
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != int(supervisor):  # it died before the line above
        os._exit(1)
    if private:
        unpack(sys.stdin.buffer.read())
    if not pipe.isdigit():
        return lambda: None
    os.set_inheritable(int(pipe), False)
    return lambda: _tell(int(pipe))


def _tell(pipe: int) -> None:
    try:
        os.write(pipe, b"ready\n")
    except BrokenPipeError:
        return
    os.close(pipe)
