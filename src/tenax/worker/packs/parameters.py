"""Checks the parameters of an action. A check that may take long runs in a process that can be killed:
`python -m tenax.worker.packs.parameters`."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

import orjson

from tenax.credentials.private_variables import without_private
from tenax.model.definition.workflow import Input
from tenax.model.inputs.inputs import find_misfits, is_checked_shortly
from tenax.model.packs.action import parameters_as_dict, parameters_from_dict
from tenax.worker.processes.guardian import Guardian
from tenax.worker.processes.processes import run_group

CHECK_SECONDS = 10.0
"""Seconds that a check may take in a process of its own."""


async def find_wrong_parameters(
    guardian: Guardian, declared: Mapping[str, Input], given: Mapping[str, Any]
) -> list[str]:
    """Returns one line for each parameter that does not fit."""
    if is_checked_shortly(declared, given):
        return find_misfits(declared, given, "action", "parameter")
    job = orjson.dumps({"declared": parameters_as_dict(declared), "given": given})
    with tempfile.TemporaryDirectory(prefix="tenax-check-", ignore_cleanup_errors=True) as folder:
        ended = await run_group(
            guardian,
            [sys.executable, "-m", "tenax.worker.packs.parameters"],
            env=without_private(os.environ),
            cwd=folder,
            stdin=job,
            seconds=CHECK_SECONDS,
            folder=folder,
        )
    if ended.timed_out:
        return [f"the check did not end within {CHECK_SECONDS:g} s: simplify the schemas of the parameters"]
    if ended.returncode:
        return [f"the check itself failed (exit code {ended.returncode})"]
    problems: list[str] = orjson.loads(ended.stdout)
    return problems


def main() -> None:
    job = orjson.loads(sys.stdin.buffer.read())
    found = find_misfits(parameters_from_dict(job["declared"]), job["given"], "action", "parameter")
    sys.stdout.buffer.write(orjson.dumps(found))


if __name__ == "__main__":
    main()
