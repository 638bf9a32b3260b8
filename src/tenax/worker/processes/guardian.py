"""Starts the guard process (`guard.py`) and tells it which process groups must not outlive the worker."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tenax.credentials.private_variables import without_private

_SCRIPT = Path(__file__).with_name("guard.py")
_END_SECONDS = 5.0


class Guardian:
    """Runs one guard process for a worker. It starts with the worker's first process group."""

    def __init__(self) -> None:
        self._guard: subprocess.Popen[bytes] | None = None
        self._groups: dict[int, str] = {}

    def watch(self, group: int, folder: str = "") -> None:
        """Puts a process group under guard. `folder` belongs to the attempt, and is removed with the group."""
        self._groups[group] = folder
        if self._guard is None:
            self._start()
        self._tell(f"+{group} {folder}\n")

    def forget(self, group: int) -> None:
        self._groups.pop(group, None)
        self._tell(f"-{group}\n")

    def close(self) -> None:
        """Ends the guard process. The guard first kills the groups that are still watched."""
        guard, self._guard = self._guard, None
        if guard is None or guard.stdin is None:
            return
        guard.stdin.close()
        try:
            guard.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            guard.kill()
            guard.wait()

    def _start(self) -> None:
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
            env=without_private(os.environ),
        )

    def _tell(self, line: str) -> None:
        if self._guard is None or self._guard.stdin is None:
            return
        try:
            os.write(self._guard.stdin.fileno(), os.fsencode(line))
        except BrokenPipeError:  # the guard process has ended, so a new one takes over
            self._guard.wait()
            self._guard.stdin.close()
            self._start()
            for group, folder in self._groups.items():
                self._tell(f"+{group} {folder}\n")
