"""Runs AgentTask files, and prints the status of agents in the same form."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import run_async
from tenax.cli.commands.executions.run import RunRequest, carry_out
from tenax.cli.flags import DEFAULT_TARGET, ExecutionId, Json, TargetFlags
from tenax.cli.output import print_json
from tenax.errors import UsageError
from tenax.model.wire import Submission

agent = App(name="agent", help="Run an AgentTask file, or print the status of an agent.")


@agent.command
def run(
    file: Annotated[str, Parameter(name="FILE", help="A file with `kind: AgentTask`; - is stdin.")],
    /,
    *,
    key: Annotated[
        str | None, Parameter(help="A unique key: a second run with it starts nothing new.")
    ] = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> int:
    """Run an AgentTask as an execution of its own, and show its progress.

    The file is translated as `tenax import` does it, and the report goes to stderr. The command of the agent is that of
    its tier, or of the setting `agent_command`. Exit codes are those of `tenax run`.
    """
    from tenax.cli.input.check_definition import check_submission
    from tenax.cli.logs import configure_logging

    settings = where.settings()
    configure_logging(settings.log_level)
    submission = _submission(file, key)
    check_submission(submission, settings)
    return carry_out(RunRequest(submission), settings, where, json=json)


def _submission(file: str, key: str | None) -> Submission:
    from tenax.cli.input.check_definition import shown_name
    from tenax.cli.input.inputs import STDIN, read_bytes
    from tenax.cli.output import say
    from tenax.dialects.translate import translate_text

    found = translate_text(read_bytes(file), filename=shown_name(file), system="agenttask")
    for entry in found.entries:
        if entry.kind != "understood":
            say(str(entry), stream=sys.stderr)
    if len(found.workflows) != 1:
        raise UsageError(
            f"{file} has {len(found.workflows)} AgentTasks, and one is run at a time",
            remedy="translate them: tenax import FILE -o FOLDER, and run each",
        )
    folder = None if file == STDIN else str(Path(file).resolve().parent)
    return Submission(source=found.text, filename=shown_name(file), key=key, base_dir=folder)


@agent.command
def status(
    execution_id: ExecutionId,
    /,
    *,
    step: Annotated[
        str | None, Parameter(help="The agent step, if the execution has several of them.")
    ] = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Print the status of an agent in the form of an AgentTask: phase, attempts and history, as YAML or JSON."""
    from tenax.cli.commands.executions.agent_status import agent_task

    execution = run_async(_found(where, execution_id))
    task = agent_task(execution, step)
    if json:
        print_json(task)
        return
    import yaml

    sys.stdout.write(yaml.safe_dump(task, sort_keys=False, allow_unicode=True))


async def _found(where: TargetFlags, execution_id: int) -> dict[str, Any]:
    async with open_backend(where.settings()) as backend:
        return await backend.get(execution_id)
