"""Calls a function in a process of its own, which reads its job from stdin and writes its outcome to a file."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from tenax.credentials.private_variables import without_private
from tenax.model.attempt.outcome import Facts, Outcome, Usage
from tenax.model.wire import Assignment
from tenax.worker.handlers.error_outcomes import timeout_failure
from tenax.worker.handlers.json_values import decode_output
from tenax.worker.processes.guardian import Guardian
from tenax.worker.processes.processes import ProcessEnd, run_group
from tenax.worker.processes.usage_pipe import VARIABLE, UsagePipe

_read_outcome = msgspec.json.Decoder(Outcome).decode


async def call_in_process(
    guardian: Guardian,
    assignment: Assignment,
    module: str,
    *,
    note_usage: Callable[[Usage], None],
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
) -> Outcome:
    """Runs the task of an assignment in a process. `module` registers the task, or has the function. `note_usage` is
    called with what the process tells of its usage while it runs."""
    with tempfile.TemporaryDirectory(prefix="tenax-attempt-", ignore_cleanup_errors=True) as name:
        result = Path(name) / "outcome.json"
        job = {
            "module": module,
            "main": getattr(sys.modules.get("__main__"), "__file__", None),
            "path": sys.path,
            "result": str(result),
            "assignment": assignment,
        }
        pipe = UsagePipe(note_usage)
        try:
            ended = await run_group(
                guardian,
                [sys.executable, "-m", "tenax.worker.processes.child"],
                env=without_private(os.environ) | dict(env or {}) | {VARIABLE: str(pipe.fd)},
                cwd=cwd or str(Path.cwd()),
                stdin=msgspec.json.encode(job),
                seconds=assignment.timeout,
                folder=name,
                pass_fds=(pipe.fd,),
            )
        finally:
            pipe.close()
        if ended.timed_out:
            return timeout_failure(assignment.timeout, stderr_tail=decode_output(ended.stderr_tail) or None)
        return _outcome_of_child(ended, result)


def _outcome_of_child(ended: ProcessEnd, path: Path) -> Outcome:
    try:
        return _read_outcome(path.read_bytes())
    except (OSError, msgspec.DecodeError):
        code = ended.returncode
        how = f"exit code {code}" if code >= 0 else f"signal {-code}"
        facts = Facts(
            message=f"the task's process ended before its function did ({how})",
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            stderr_tail=decode_output(ended.stderr_tail) or None,
        )
        return Outcome("failed", facts=facts)
