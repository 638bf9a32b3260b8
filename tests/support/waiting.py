"""Waiting for another process, the only thing that a test may wait for: until a condition holds, never for a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(condition: Callable[[], T], timeout: float = 20.0) -> T:
    """The first true value of the condition; an error if there is none in time."""
    deadline = time.monotonic() + timeout
    pause = threading.Event()
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not true within {timeout:g} s: {condition}")
        pause.wait(0.02)
    return value
