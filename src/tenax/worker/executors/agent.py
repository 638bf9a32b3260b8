"""Runs `agent` steps: a command that gets a prompt, and states in its result file how it went and what it used."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tenax.model.attempt.outcome import Outcome
from tenax.model.definition.tiers import NO_AGENT_DEFAULTS, AgentDefaults
from tenax.model.json_text import encode
from tenax.model.wire import Assignment
from tenax.sdk.context import TaskContext
from tenax.worker.executors import RESULT_LIMIT
from tenax.worker.executors.outbox_files import list_outbox
from tenax.worker.executors.process import run_attempt_command
from tenax.worker.executors.result_file import outcome_of_agent
from tenax.worker.handlers.error_outcomes import classified_failure
from tenax.worker.processes.guardian import Guardian
from tenax.worker.processes.usage_pipe import VARIABLE, UsagePipe

_NO_COMMAND = (
    "there is no command for this agent: give the step a `command`, or set `agent_command` or that of a tier "
    "in the settings of the worker"
)


class AgentExecutor:
    """Runs agents. Its guardian ends them if the worker dies."""

    def __init__(
        self,
        guardian: Guardian,
        defaults: AgentDefaults = NO_AGENT_DEFAULTS,
        *,
        result_limit: int = RESULT_LIMIT,
    ) -> None:
        self._guardian = guardian
        self._defaults = defaults
        self._result_limit = result_limit

    async def run(self, assignment: Assignment, context: TaskContext) -> Outcome:
        command = self._defaults.command_of(assignment.spec)
        if command is None:
            return classified_failure("invalid", "invalid_parameters", _NO_COMMAND)
        with tempfile.TemporaryDirectory(prefix="tenax-attempt-", ignore_cleanup_errors=True) as name:
            return await self._run_in(assignment, command, context, Path(name))

    async def close(self) -> None:
        """Does nothing: the guardian belongs to `Executors`, which closes it."""

    async def _run_in(
        self, assignment: Assignment, command: Any, context: TaskContext, folder: Path
    ) -> Outcome:
        outbox = folder / "outbox"
        own = self._prepare(assignment, folder)
        pipe = UsagePipe(context.note_usage)
        try:
            ended = await run_attempt_command(
                self._guardian,
                assignment,
                command,
                folder,
                context,
                variables=own | {VARIABLE: str(pipe.fd)},
                pass_fds=(pipe.fd,),
            )
        finally:
            pipe.close()
        if isinstance(ended, Outcome):
            return ended
        outcome = outcome_of_agent(ended, folder / "result.json", limit=self._result_limit)
        if outcome.status != "succeeded":
            return outcome
        files = await asyncio.to_thread(list_outbox, outbox)
        return replace(outcome, result={"output": outcome.result, "outbox": files})

    def _prepare(self, assignment: Assignment, folder: Path) -> dict[str, str]:
        """Writes the files that the agent reads, and returns the variables with their paths."""
        spec = assignment.spec
        prompt, role, model = str(spec["prompt"]), spec.get("role"), self._defaults.model_of(spec)
        inbox, outbox = folder / "inbox", folder / "outbox"
        inbox.mkdir()
        outbox.mkdir()
        (folder / "prompt.md").write_text(prompt, "utf-8", "replace")
        task = {
            "execution_id": assignment.execution_id,
            "step": assignment.step,
            "item": assignment.item,
            "attempt": assignment.attempt,
            "prompt": prompt,
            "role": role,
            "model": model,
            "tier": spec.get("tier"),
        }
        (inbox / "task.json").write_text(encode(task), "utf-8", "replace")
        return {
            "TENAX_PROMPT_FILE": str(folder / "prompt.md"),
            "TENAX_ROLE": str(role or ""),
            "TENAX_MODEL": str(model or ""),
            "TENAX_INBOX": str(inbox),
            "TENAX_OUTBOX": str(outbox),
        }
