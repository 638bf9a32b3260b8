"""Runs actions of packs: fetches the pack, checks the parameters, and runs the entrypoint as a process."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson
from msgspec import structs

from tenax.errors import NotFound
from tenax.model.attempt.outcome import Outcome
from tenax.model.definition.workflow import Input
from tenax.model.inputs.inputs import fill_in
from tenax.model.packs.action import PackRuntime, parameters_from_dict
from tenax.model.wire import Assignment
from tenax.sdk.context import TaskContext
from tenax.worker.executors import RESULT_LIMIT
from tenax.worker.executors.child_process import call_in_process
from tenax.worker.executors.process import ProcessExecutor
from tenax.worker.handlers.error_outcomes import classified_failure, timeout_failure
from tenax.worker.handlers.registry import NoHandler
from tenax.worker.packs.cache import PackCache
from tenax.worker.packs.parameters import find_wrong_parameters
from tenax.worker.packs.unpack import DamagedPack
from tenax.worker.processes.guardian import Guardian

AT_ONCE = 0.2
"""Seconds. A pack that is found within this time takes nothing from the timeout."""
LEAST_SECONDS = 0.001
"""The fewest seconds that remain of the timeout, however long it took to fetch the pack."""
_DESCRIBED = 1000  # actions whose descriptions are kept


@dataclass(frozen=True, slots=True)
class _Action:
    """Is what the server says about an action: the descriptor of `BoundAction`."""

    hash: str
    runtime: PackRuntime
    entrypoint: str | None
    command: str | list[str] | None
    env: Mapping[str, str]
    parameters: Mapping[str, Input]

    @property
    def is_function(self) -> bool:
        return self.entrypoint is not None and ":" in self.entrypoint


@lru_cache(_DESCRIBED)
def _read(descriptor: str) -> _Action:
    body = orjson.loads(descriptor)
    parameters = parameters_from_dict(body["parameters"])
    names = ("hash", "runtime", "entrypoint", "command", "env")
    return _Action(**{name: body[name] for name in names}, parameters=parameters)


class ActionExecutor:
    """Runs actions. The folder of a pack is shared by all attempts, and each attempt has a folder of its own."""

    def __init__(self, guardian: Guardian, packs: PackCache, *, result_limit: int = RESULT_LIMIT) -> None:
        self._guardian = guardian
        self._packs = packs
        self._processes = ProcessExecutor(guardian, result_limit=result_limit)

    async def run(self, assignment: Assignment, context: TaskContext) -> Outcome:
        """Runs one attempt. The time in which its pack is fetched is part of its timeout.

        Raises `NoHandler` if this machine lacks the program that the action's runtime needs.
        """
        action, given = _read(assignment.spec["pack"]), assignment.spec["params"]
        if action.runtime == "node" and shutil.which("node") is None:
            raise NoHandler("this machine has no `node`, which the action needs")
        name = assignment.spec["action"]
        if not isinstance(given, Mapping):
            return _invalid(name, [f"`params` is not a mapping: it is a {type(given).__name__}"])
        if problems := await find_wrong_parameters(self._guardian, action.parameters, given):
            return _invalid(name, problems)
        began = time.monotonic()
        async with contextlib.AsyncExitStack() as held:
            folder = await self._hold_pack(held, name, action.hash, assignment.timeout)
            if isinstance(folder, Outcome):
                return folder
            spent = time.monotonic() - began
            left = assignment.timeout if spent < AT_ONCE else max(LEAST_SECONDS, assignment.timeout - spent)
            filled = fill_in(action.parameters, given)
            return await self._run_in(
                folder, action, filled, structs.replace(assignment, timeout=left), context
            )

    async def close(self) -> None:
        """Does nothing: the guardian and the packs belong to `Executors`, which closes them."""

    async def _hold_pack(
        self, held: contextlib.AsyncExitStack, name: str, content: str, seconds: float
    ) -> Path | Outcome:
        """Returns the folder of a pack, which stays until `held` is closed. Returns the failure if it cannot be had."""
        try:
            async with asyncio.timeout(seconds) as fetching:
                return await held.enter_async_context(self._packs.using(content))
        except TimeoutError:
            if not fetching.expired():
                raise
            return timeout_failure(seconds)
        except NotFound as error:
            return classified_failure("not_found", "pack_removed", f"{name}: {error.message}")
        except DamagedPack as error:
            return classified_failure("transient", "pack_damaged", str(error))

    async def _run_in(
        self,
        folder: Path,
        action: _Action,
        params: dict[str, Any],
        assignment: Assignment,
        context: TaskContext,
    ) -> Outcome:
        env = dict(action.env) | {"TENAX_PACK_DIR": str(folder)}
        if action.runtime == "python":
            env["PYTHONDONTWRITEBYTECODE"] = "1"
        if action.is_function:
            return await self._call(folder, action, params, assignment, context, env)
        spec = {"command": _command(action, folder), "env": env, "params": params}
        return await self._processes.run(structs.replace(assignment, spec=spec, base_dir=None), context)

    async def _call(
        self,
        folder: Path,
        action: _Action,
        params: dict[str, Any],
        assignment: Assignment,
        context: TaskContext,
        env: dict[str, str],
    ) -> Outcome:
        """Calls a function of the pack, in a process that imports modules from the pack first."""
        task = action.entrypoint or ""
        called = structs.replace(assignment, spec={"task": task, "args": params}, base_dir=str(folder))
        module = task.partition(":")[0]
        with tempfile.TemporaryDirectory(prefix="tenax-attempt-", ignore_cleanup_errors=True) as own:
            return await call_in_process(self._guardian, called, module, context, env=env, cwd=own)


def _command(action: _Action, folder: Path) -> str | list[str]:
    """Returns what a process runs: the script of the pack by its runtime, or the action's own command."""
    if isinstance(action.command, str):
        return action.command
    if action.command is not None:
        first, *others = action.command
        within = "/" in first and not first.startswith("/")
        return [str(folder / first) if within else first, *others]
    script = folder / (action.entrypoint or "")
    match action.runtime:
        case "python":
            return [sys.executable, str(script)]
        case "node":
            return ["node", str(script)]
        case "shell" if not _names_its_interpreter(script):
            return ["/bin/sh", str(script)]
        case _:
            return [str(script)]


def _names_its_interpreter(script: Path) -> bool:
    """Returns whether a script is executable and begins with `#!`."""
    if not script.stat().st_mode & 0o100:
        return False
    with script.open("rb") as file:
        return file.read(2) == b"#!"


def _invalid(name: str, problems: list[str]) -> Outcome:
    lines = "\n  ".join(problems)
    return classified_failure(
        "invalid", "invalid_parameters", f"the parameters do not fit action `{name}`:\n  {lines}"
    )
