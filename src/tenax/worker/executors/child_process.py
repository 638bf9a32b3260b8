"""Calls a function in a process of its own, which reads its job from stdin and writes its outcome to a file."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tenax.credentials.private_variables import without_private
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.wire import Assignment
from tenax.sdk.context import TaskContext
from tenax.worker.handlers.error_outcomes import timeout_failure
from tenax.worker.handlers.json_values import decode_output
from tenax.worker.live.capture import ProcessOutput
from tenax.worker.processes.child_notes import ChildNotes
from tenax.worker.processes.guardian import Guardian
from tenax.worker.processes.processes import ProcessEnd, run_group

_UNBUFFERED = {"PYTHONUNBUFFERED": "1"}
"""Lets people see what the process prints while it runs."""
_read_outcome = msgspec.json.Decoder(Outcome).decode


async def call_in_process(
    guardian: Guardian,
    assignment: Assignment,
    module: str,
    context: TaskContext,
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
) -> Outcome:
    """Runs the task of an assignment in a process. `module` registers the task, or has the function. `context`
    takes what the process tells and prints while it runs."""
    with tempfile.TemporaryDirectory(prefix="tenax-attempt-", ignore_cleanup_errors=True) as name:
        result = Path(name) / "outcome.json"
        job = {
            "module": module,
            "main": getattr(sys.modules.get("__main__"), "__file__", None),
            "path": sys.path,
            "result": str(result),
            "assignment": assignment,
            "max_checkpoint": context.max_checkpoint,
        }
        notes = ChildNotes(context)
        try:
            ended = await run_group(
                guardian,
                [sys.executable, "-m", "tenax.worker.processes.child"],
                env=without_private(os.environ) | _UNBUFFERED | dict(env or {}) | notes.variables,
                cwd=cwd or str(Path.cwd()),
                stdin=msgspec.json.encode(job),
                seconds=assignment.timeout,
                folder=name,
                pass_fds=notes.fds,
                on_output=ProcessOutput(context),
            )
        finally:
            notes.close()
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
