"""Runs `process` steps: a command in a fresh folder and its own process group. The result is its result file or its stdout."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from tenax.credentials.private_variables import without_private
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.json_text import encode
from tenax.model.wire import Assignment
from tenax.sdk.context import TaskContext
from tenax.worker.executors import RESULT_LIMIT
from tenax.worker.executors.result_file import outcome_of_process
from tenax.worker.handlers.error_outcomes import classified_failure, timeout_failure
from tenax.worker.handlers.json_values import decode_output
from tenax.worker.live.capture import ProcessOutput
from tenax.worker.processes.guardian import Guardian
from tenax.worker.processes.oom import OomKills
from tenax.worker.processes.processes import ProcessEnd, run_group

_OPTIONAL = ("TENAX_ITEM", "TENAX_COMPENSATES")
"""Variables that are set only for attempts to which they apply."""


class ProcessExecutor:
    """Runs commands. Its guardian ends them if the worker dies."""

    def __init__(self, guardian: Guardian, *, result_limit: int = RESULT_LIMIT) -> None:
        self._guardian = guardian
        self._result_limit = result_limit

    async def run(self, assignment: Assignment, context: TaskContext) -> Outcome:
        # A folder that cannot be removed must not turn a finished attempt into a failed one.
        with tempfile.TemporaryDirectory(prefix="tenax-attempt-", ignore_cleanup_errors=True) as name:
            return await self._run_in(assignment, Path(name), context)

    async def close(self) -> None:
        """Does nothing: the guardian belongs to `Executors`, which closes it."""

    async def _run_in(self, assignment: Assignment, folder: Path, context: TaskContext) -> Outcome:
        spec = assignment.spec
        params = b"" if spec.get("params") is None else orjson.dumps(spec["params"])
        (folder / "params.json").write_bytes(params or b"null")
        own = {"TENAX_PARAMS_FILE": str(folder / "params.json")}
        ended = await run_attempt_command(
            self._guardian, assignment, spec["command"], folder, context, stdin=params, variables=own
        )
        if isinstance(ended, Outcome):
            return ended
        return outcome_of_process(ended, folder / "result.json", limit=self._result_limit)


async def run_attempt_command(
    guardian: Guardian,
    assignment: Assignment,
    command: Any,
    folder: Path,
    context: TaskContext,
    *,
    stdin: bytes = b"",
    variables: Mapping[str, str],
    pass_fds: Sequence[int] = (),
) -> ProcessEnd | Outcome:
    """Runs a command in the folder of its attempt. Returns how it ended by itself, or the failure if it did not begin or
    did not end in time."""
    cwd = _working_folder(assignment, folder)
    if not cwd.is_dir():
        return classified_failure(
            "invalid", "invalid_parameters", f"there is no folder {str(cwd)!r} to run the command in"
        )
    env = _environment(assignment, folder) | dict(variables)
    argv = _argv(command)
    if not argv:
        return classified_failure("invalid", "invalid_parameters", "the command is empty")
    if (missing := _not_found(argv[0], env, cwd)) is not None:
        return missing
    kills = OomKills.now()
    ended = await run_group(
        guardian,
        argv,
        env=env,
        cwd=str(cwd),
        stdin=stdin,
        seconds=assignment.timeout,
        folder=str(folder),
        pass_fds=pass_fds,
        on_output=ProcessOutput(context),
    )
    if ended.timed_out:
        return timeout_failure(assignment.timeout, stderr_tail=decode_output(ended.stderr_tail) or None)
    return replace(ended, oom_killed=_was_killed(ended) and kills.more_since())


def _argv(command: Any) -> list[str]:
    if isinstance(command, str):
        return ["/bin/sh", "-c", command]
    return [_word(part) for part in command]


def _word(value: Any) -> str:
    """Returns a value as one word, as the templates of a text for the shell do: lists, mappings, true and false as JSON,
    and null as an empty word."""
    if isinstance(value, str):
        return value
    return "" if value is None else encode(value)


def _environment(assignment: Assignment, folder: Path) -> dict[str, str]:
    inherited = without_private(os.environ)
    own = {name: _word(value) for name, value in (assignment.spec.get("env") or {}).items()}
    # A worker that itself runs in a process step must not pass on the variables of that step.
    env = {name: value for name, value in inherited.items() if name not in _OPTIONAL} | own
    if assignment.item is not None:
        env["TENAX_ITEM"] = str(assignment.item)
    if assignment.compensates:
        env["TENAX_COMPENSATES"] = "1"
    return env | {
        "TENAX_EXECUTION_ID": str(assignment.execution_id),
        "TENAX_STEP": assignment.step,
        "TENAX_ATTEMPT": str(assignment.attempt),
        "TENAX_RECEIPT": assignment.receipt,
        "TENAX_RESULT_FILE": str(folder / "result.json"),
    }


def _working_folder(assignment: Assignment, folder: Path) -> Path:
    """Returns the folder of the workflow's file if it exists on this machine, else the folder of the attempt."""
    base = Path(assignment.base_dir) if assignment.base_dir and Path(assignment.base_dir).is_dir() else folder
    own = assignment.spec.get("cwd")
    return base / str(own) if own else base


def _not_found(command: str, env: dict[str, str], cwd: Path) -> Outcome | None:
    """Returns a failure if the command does not exist or cannot be executed. The start gate would only exit with 127."""
    if "/" in command:
        found = os.access(cwd / command, os.X_OK) and not (cwd / command).is_dir()
        exists = (cwd / command).exists()
    else:
        found = shutil.which(command, path=env.get("PATH", os.defpath)) is not None
        exists = False
    if found:
        return None
    words = "cannot be executed" if exists else "command not found"
    facts = Facts(
        message=f"{words}: {command}",
        exit_code=126 if exists else 127,
        result_file="missing",
        exception="builtins.PermissionError" if exists else "builtins.FileNotFoundError",
        exception_bases=("builtins.OSError", "builtins.Exception", "builtins.BaseException"),
    )
    return Outcome("failed", facts=facts)


def _was_killed(ended: ProcessEnd) -> bool:
    """Returns whether SIGKILL ended the process. A shell reports the SIGKILL of its command as exit code 137."""
    return ended.returncode in (-9, 137)
