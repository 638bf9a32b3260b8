"""Keeps private variables (secrets, the token, the URL of the database) out of the environment of the process.

Any process of the same user can read `/proc/PID/environ`, and deleting from `os.environ` does not change it. So the values are
overwritten in place, and passed to child processes through a pipe.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Mapping

SECRET_PREFIX = "TENAX_SECRET_"  # noqa: S105 - the name of variables, not a secret
_PRIVATE = frozenset({"TENAX_TOKEN", "TENAX_DATABASE_URL", "TENAX_WORKER_DATABASE"})

_kept: dict[str, str] = {}
"""The private variables with which this process was started, or which its supervisor passed to it."""


def is_private(name: str) -> bool:
    return name in _PRIVATE or name.startswith(SECRET_PREFIX)


def without_private(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables that a child process may inherit."""
    return {name: value for name, value in environment.items() if not is_private(name)}


def own_variables() -> dict[str, str]:
    """Returns all variables of this process: those of its environment, and the private ones."""
    return {**_kept, **os.environ}


def own_secrets() -> dict[str, str]:
    """Returns the secrets among the variables of this process."""
    return {name: value for name, value in own_variables().items() if name.startswith(SECRET_PREFIX)}


def hide_private_variables() -> None:
    """Takes the private variables out of the environment. Call it before the process does anything else.

    The environment must not have been changed before: the first value of a changed variable stays in memory, at an unknown place.
    """
    names = [name for name in os.environ if is_private(name)]
    if not names:
        return
    _overwrite({os.fsencode(name) for name in names})
    for name in names:
        _kept[name] = os.environ.pop(name)


def pack_variables(variables: Mapping[str, str]) -> bytes:
    """Encodes variables for the pipe of a child process."""
    return json.dumps(dict(variables)).encode()


def unpack_variables(packed: bytes) -> None:
    """Keeps the private variables that a supervisor has written to the pipe of this process."""
    _kept.update(json.loads(packed or b"{}"))


def _overwrite(names: set[bytes]) -> None:
    """Overwrites the values with zeros at the place where the kernel put them when the process was started.

    Python has copied them by then. On systems other than Linux, the values are not overwritten.
    """
    if sys.platform != "linux":
        return
    entries = ctypes.POINTER(ctypes.c_void_p).in_dll(ctypes.CDLL(None), "environ")
    place = 0
    while (address := entries[place]) is not None:
        name, _, value = ctypes.string_at(address).partition(b"=")
        if name in names:
            ctypes.memset(address + len(name) + 1, 0, len(value))
        place += 1
