"""Connects a child process to its supervisor: it ends if the supervisor was killed, and says when it is ready."""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import sys
from collections.abc import Callable

from tenax.credentials.private_variables import unpack_variables

SUPERVISOR = "TENAX_SUPERVISOR_PID"
READY_PIPE = "TENAX_READY_PIPE"
PRIVATE_PIPE = "TENAX_PRIVATE_PIPE"
"""Set if the child gets its private variables through stdin. Other processes could read them in its environment."""
LIFE = "TENAX_WORKER_LIFE"
_PR_SET_PDEATHSIG = 1


def environment_for_child(ready_pipe: int | None = None) -> dict[str, str]:
    own = {SUPERVISOR: str(os.getpid()), PRIVATE_PIPE: "stdin"}
    return own if ready_pipe is None else {**own, READY_PIPE: str(ready_pipe)}


def is_supervised() -> bool:
    """Returns whether a supervisor has started this process. Call it before `under_supervision`, which removes the variables."""
    return os.environ.get(SUPERVISOR, "").isdigit()


def given_life() -> str | None:
    """Returns the life that the supervisor gave to this worker, and removes the variable from the environment."""
    return os.environ.pop(LIFE, None)


def under_supervision() -> Callable[[], None]:
    """Connects to the supervisor, if there is one. Call it first in a process. Returns a function to call when the process is ready.

    The variables are removed from the environment, so that the processes that the child starts do not inherit them.
    """
    supervisor, pipe = os.environ.pop(SUPERVISOR, ""), os.environ.pop(READY_PIPE, "")
    private = os.environ.pop(PRIVATE_PIPE, "")
    if not supervisor.isdigit():
        return lambda: None
    logging.getLogger("tenax.settings").disabled = True  # the supervisor has reported wrong settings already
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != int(supervisor):  # the supervisor died before the call above
        os._exit(1)
    if private:
        unpack_variables(sys.stdin.buffer.read())
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
