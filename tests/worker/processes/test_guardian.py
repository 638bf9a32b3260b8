"""Tests the guard process: watched groups die with the worker's end of the pipe, and groups that are no longer watched live."""

from __future__ import annotations

import os
import signal
import subprocess

from tenax.worker.processes.guardian import Guardian


def sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "600"], start_new_session=True)


def test_watched_groups_end_with_the_guardian_forgotten_ones_do_not():
    watched, forgotten = sleeper(), sleeper()
    guardian = Guardian()
    guardian.watch(watched.pid)
    guardian.watch(forgotten.pid)
    guardian.forget(forgotten.pid)
    guardian.close()
    assert watched.wait(10) == -signal.SIGKILL
    assert forgotten.poll() is None
    forgotten.kill()
    forgotten.wait()


def test_a_guard_that_was_killed_is_replaced_and_knows_all_groups():
    first, second = sleeper(), sleeper()
    guardian = Guardian()
    guardian.watch(first.pid)
    guard = guardian._guard
    os.kill(guard.pid, signal.SIGKILL)
    guard.wait()
    guardian.watch(second.pid)
    guardian.close()
    assert [first.wait(10), second.wait(10)] == [-signal.SIGKILL] * 2
