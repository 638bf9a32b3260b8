"""Draws the graph of a workflow file, or of an execution with its progress."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import check_id, run_async
from tenax.cli.flags import DEFAULT_TARGET, TargetFlags
from tenax.cli.input.check_definition import shown_name
from tenax.cli.input.inputs import read_bytes
from tenax.cli.input.policies import default_retry
from tenax.cli.output import write_text
from tenax.drawing.graph import Drawing, draw_mermaid, draw_text, drawing_of
from tenax.drawing.svg import draw_svg
from tenax.model.definition.workflow import OnFailure, Step, Workflow
from tenax.policy.check import load_workflow
from tenax.policy.graph import goals_of

Format = Literal["text", "mermaid", "svg"]
_DRAWN: Mapping[Format, Callable[[Drawing], str]] = {
    "text": draw_text,
    "mermaid": draw_mermaid,
    "svg": draw_svg,
}
_ID = re.compile(r"[0-9]{1,19}")


def graph(
    source: Annotated[
        str, Parameter(name="FILE|ID", help="A workflow file (- is stdin), or the number of an execution.")
    ],
    /,
    *,
    format_: Annotated[Format, Parameter(name="--format", help="The format of the drawing. [text]")] = "text",
    output: Annotated[str | None, Parameter(help="The file to write to. [stdout]")] = None,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Draw the graph of a workflow file, or of an execution with the states and attempts of its steps.

    A number names an execution, unless there is a file with this name. ./5 always names a file.
    """
    if _ID.fullmatch(source) and not Path(source).is_file():
        drawing = _of_execution(run_async(_execution(where, check_id(int(source)))))
    else:
        drawing = _of_file(source, where)
    write_text(_DRAWN[format_](drawing), output)


def _of_file(file: str, where: TargetFlags) -> Drawing:
    server_retry = default_retry(where.settings())
    workflow = load_workflow(read_bytes(file), filename=shown_name(file), server_retry=server_retry)
    return drawing_of(workflow, goals=goals_of(workflow))


def _of_execution(execution: Mapping[str, Any]) -> Drawing:
    """Draws an execution from its own data, since its file may have changed."""
    states = execution["steps"]
    steps = tuple(_step(name, state) for name, state in states.items())
    title = f"{execution['workflow']}, execution {execution['id']}: {execution['status']}"
    goals = [name for name, state in states.items() if state.get("goal")]
    return drawing_of(Workflow(execution["workflow"], steps), title=title, goals=goals, states=states)


def _step(name: str, state: Mapping[str, Any]) -> Step:
    stand_in = state.get("stand_in")
    on_failure = OnFailure(stand_in["action"], step=stand_in["step"]) if stand_in else None
    return Step(name, state["type"], {}, tuple(state["needs"]), on_failure=on_failure)


async def _execution(where: TargetFlags, execution_id: int) -> dict[str, Any]:
    async with open_backend(where.settings()) as backend:
        return await backend.get(execution_id)
