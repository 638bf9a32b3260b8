"""Lets all processes of a round start at the same instant: each reports that it is ready, and waits until the gate is opened."""

from __future__ import annotations

import os
import time
from pathlib import Path

VARIABLE = "TENAX_BENCH_GATE"
_POLL_SECONDS = 0.002
_OPEN = "open"


def wait_at_gate() -> None:
    """Waits at the gate, in a child process. Returns at once if its environment has no gate."""
    folder = os.environ.get(VARIABLE)
    if folder is None:
        return
    gate = Path(folder)
    (gate / str(os.getpid())).touch()
    while not (gate / _OPEN).exists():
        time.sleep(_POLL_SECONDS)


def waiting(gate: Path) -> int:
    return sum(1 for entry in gate.iterdir() if entry.name != _OPEN)


def open_gate(gate: Path) -> None:
    (gate / _OPEN).touch()
