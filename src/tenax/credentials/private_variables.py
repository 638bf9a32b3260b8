"""Variables that belong to this process alone: secrets, its token, its database. They are kept out of its environment.

Any process of the same user can read `/proc/PID/environ`, and deleting from `os.environ` does not change what stands there.
So the values are overwritten in place, and handed to child processes through a pipe.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Mapping

SECRET_PREFIX = "TENAX_SECRET_"  # noqa: S105 - the name of variables, not a secret
_PRIVATE = frozenset({"TENAX_TOKEN", "TENAX_DATABASE_URL"})

_kept: dict[str, str] = {}
"""The private variables that this process was started with, or was handed by its supervisor."""


def is_private(name: str) -> bool:
    return name in _PRIVATE or name.startswith(SECRET_PREFIX)


def without_private(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables that a child process may inherit."""
    return {name: value for name, value in environment.items() if not is_private(name)}


def own_variables() -> dict[str, str]:
    """Returns all variables of this process: those of its environment, and the private ones that were taken out of it."""
    return {**_kept, **os.environ}


def own_secrets() -> dict[str, str]:
    """Returns the secrets among the variables of this process."""
    return {name: value for name, value in own_variables().items() if name.startswith(SECRET_PREFIX)}


def hide_private_variables() -> None:
    """Takes the private variables out of the environment. Called before the process does anything else.

    Nobody must have changed the environment before: a changed variable leaves its first value behind, in a place that
    is not known any more.
    """
    names = [name for name in os.environ if is_private(name)]
    if not names:
        return
    _overwrite({os.fsencode(name) for name in names})
    for name in names:
        _kept[name] = os.environ.pop(name)


def pack(variables: Mapping[str, str]) -> bytes:
    """Returns variables as they are written to the pipe of a child process."""
    return json.dumps(dict(variables)).encode()


def unpack(packed: bytes) -> None:
    """Keeps the variables that a supervisor has written to the pipe of this process."""
    _kept.update(json.loads(packed or b"{}"))


def _overwrite(names: set[bytes]) -> None:
    """Fills the values with zeros where the kernel has put them when the process was started.

    Python has copied them by then. On other systems than Linux the values stay where they are.
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
