"""Waits for another process until a condition holds. Tests wait in no other way, and never for a fixed time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(condition: Callable[[], T], timeout: float = 60.0) -> T:
    """Returns the first true value of the condition. Raises an error if there is none in time, which is long enough for a busy machine."""
    deadline = time.monotonic() + timeout
    pause = threading.Event()
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not true within {timeout:g} s: {condition}")
        pause.wait(0.02)
    return value
