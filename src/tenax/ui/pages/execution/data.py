"""Shows the input and the result of an execution, and writes it as JSON and as commands."""

from __future__ import annotations

import json
import shlex
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from msgspec import structs

from tenax.engine.engine import Engine
from tenax.engine.slices import TimeSlice
from tenax.model.execution_views import Execution
from tenax.ui.pages.execution.frame import frame
from tenax.ui.rendering import pretty

TEMPLATE = "executions/data.html"
BLOCKS = ("values",)
MOST_SHOWN = 60_000  # characters of a value on the page; the download has all of it
STEPS_AT_ONCE = 100
_HEADER = '-H "Authorization: Bearer $TENAX_TOKEN"'
"""The header of curl that takes the token from the environment."""


async def data_view(engine: Engine, execution_id: int, server: str) -> dict[str, Any]:
    execution = await engine.get(execution_id)
    return {
        **await frame(engine, execution, "Input & result"),
        "shown_input": _shown(execution.input),
        "shown_result": _shown(execution.result),
        "shown_failure": None if execution.failure is None else _shown(execution.failure),
        "commands": _commands(execution, server, stored=bool(await engine.workflows(execution.workflow))),
    }


def _shown(value: Any) -> tuple[str, int]:
    """Returns a value as text, cut if it is long, and the number of characters that are left out."""
    text = pretty(value)
    return text[:MOST_SHOWN], max(0, len(text) - MOST_SHOWN)


def _commands(execution: Execution, server: str, *, stored: bool) -> list[tuple[str, str]]:
    """Returns commands to paste, with their titles. Only a stored workflow can be submitted by its name."""
    where = f"--server {shlex.quote(server)}"
    one = f"{server}/v1/executions/{execution.id}"
    commands = [
        ("Show it", f"tenax show {execution.id} {where}"),
        ("Explain its decisions", f"tenax explain {execution.id} {where}"),
        ("Show it with curl", f"curl -sS {_HEADER} {shlex.quote(one)}"),
    ]
    if stored:
        body = json.dumps({"workflow": execution.workflow, "input": execution.input}, ensure_ascii=False)
        commands += [
            (
                "Submit the same",
                f"tenax submit {shlex.quote(execution.workflow)}{_inputs(execution)} {where}",
            ),
            ("Submit the same with curl", _post(f"{server}/v1/executions", body)),
        ]
    elif execution.finished_at is not None:
        commands += [
            ("Run the same again", f"tenax retry {execution.id} --new {where}"),
            ("Run the same again with curl", _post(f"{one}/retry", '{"new": true}')),
        ]
    return [(title, command) for title, command in commands if len(command) <= MOST_SHOWN]


def _inputs(execution: Execution) -> str:
    pairs = (f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in execution.input.items())
    return "".join(f" --input {shlex.quote(pair)}" for pair in pairs)


def _post(address: str, body: str) -> str:
    return f"curl -sS {_HEADER} -H 'Content-Type: application/json' -d {shlex.quote(body)} {shlex.quote(address)}"


async def as_json(execution: Execution) -> AsyncIterator[bytes]:
    """Yields an execution as JSON, a part of its steps at a time."""
    encode = msgspec.json.encode
    head = encode(structs.replace(execution, steps={}))
    yield head[: -len(b"}}")]
    names, time_slice = list(execution.steps), TimeSlice()
    for start in range(0, len(names), STEPS_AT_ONCE):
        if time_slice.is_over:
            await time_slice.give_way()
        part = {name: execution.steps[name] for name in names[start : start + STEPS_AT_ONCE]}
        yield (b"," if start else b"") + encode(part)[1:-1]
    yield b"}}\n"
