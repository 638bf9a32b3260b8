"""Is a process beside the server that reads definitions and checks inputs, one after the other, until its pipe is closed.

The server kills it if a task takes too long. If the server has died by then, a system timer ends it.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import resource
import signal
import struct
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from tenax.dialects.translate import joined, translate_text
from tenax.errors import InvalidDefinition, TenaxError
from tenax.model.definition.tiers import ServerPolicy
from tenax.model.definition.workflow import Input, Step, Workflow
from tenax.model.inputs.inputs import check_input
from tenax.model.json_text import decode, encode, most_values
from tenax.model.parse.parse import DefinitionLimits, workflow_hash
from tenax.model.policy import Policy
from tenax.model.views import ImportedFile, ImportedWorkflow, ImportEntry, LintEntry, LintReport
from tenax.policy.check import load_workflow
from tenax.policy.lint.lint import lint_text
from tenax.policy.packs.read_pack import PackLimits, read_pack
from tenax.policy.packs.resolve_policies import resolve_policies
from tenax.policy.retry.resolve import policy_hash

NICE = 10
"""Niceness of the process: the server, its database and its workers have priority."""
STEPS_IN_PART = 100
"""Steps in one part of a definition. The server takes in part after part, and does other work between two of them."""
_COUNT = struct.Struct("!Q")


def main(memory: int) -> None:
    """Serves requests. `memory` is the number of bytes of address space that the process may use."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    answers.write(b".")
    answers.flush()
    while len(head := requests.read(_COUNT.size)) == _COUNT.size:
        task, arguments, seconds = pickle.loads(requests.read(_COUNT.unpack(head)[0]))  # noqa: S301 -- the server wrote it
        # The limit is processor time: a busy machine must not fail a short task. The system ends the process wherever
        # it is.
        signal.setitimer(signal.ITIMER_PROF, seconds)
        _send(answers, _answer(TASKS[task], arguments))
        signal.setitimer(signal.ITIMER_PROF, 0)


def _answer(task: Callable[..., Iterator[Any]], arguments: tuple[Any, ...]) -> list[bytes]:
    try:
        return [b"done", *(pickle.dumps(part) for part in task(*arguments))]
    except InvalidDefinition as error:
        return [b"invalid definition", pickle.dumps(error.findings)]
    except TenaxError as error:
        return [b"error", pickle.dumps((type(error), error.message, error.remedy))]
    except (MemoryError, SystemError):  # orjson raises SystemError when it gets no memory
        return [b"too large"]
    except RecursionError:
        return [b"too deep"]
    except Exception as error:  # noqa: BLE001 -- whatever it was, the server says it
        return [b"failed", pickle.dumps(f"{type(error).__name__}: {error}")]


def _send(answers: BinaryIO, parts: list[bytes]) -> None:
    answers.write(_COUNT.pack(len(parts)))
    for part in parts:
        answers.write(_COUNT.pack(len(part)))
        answers.write(part)
    answers.flush()


def _check_input(name: str, inputs: dict[str, Input], given: str) -> Iterator[Any]:
    check_input(Workflow(name, (), inputs=inputs), decode(given))
    return iter(())


def _count_values(text: bytes) -> Iterator[Any]:
    yield most_values(text, exactly=True)


def _read(
    source: str, filename: str | None, server_retry: ServerPolicy, limits: DefinitionLimits
) -> Iterator[Any]:
    """Reads a definition and resolves its policies."""
    workflow = load_workflow(source, filename=filename, server_retry=server_retry, limits=limits)
    return _parts(workflow, resolve_policies(workflow, server_retry))


def _translate(source: str, filename: str | None, system: str | None) -> Iterator[Any]:
    """Translates a file of another system."""
    found = joined([translate_text(source, filename=filename, system=system)])
    yield ImportedFile(
        workflows=[
            ImportedWorkflow(name=one.name, system=one.system, text=one.text) for one in found.workflows
        ],
        report=[ImportEntry(**entry.as_dict()) for entry in found.entries],
    )


def _lint(
    source: str, filename: str | None, server_retry: ServerPolicy, limits: DefinitionLimits
) -> Iterator[Any]:
    """Looks a definition over with the rules of the lint."""
    found = lint_text(source, filename=filename, server_retry=server_retry, limits=limits)
    errors = sum(one.severity == "error" for one in found)
    yield LintReport(
        findings=[LintEntry(**one.as_dict()) for one in found], errors=errors, warnings=len(found) - errors
    )


def _restore(body: str, server_retry: ServerPolicy) -> Iterator[Any]:
    """Reads a stored definition, and resolves its policies again."""
    workflow = Workflow.from_dict(decode(body))
    return _parts(workflow, resolve_policies(workflow, server_retry))


def _restore_plan(body: str, policies: str, policy_bodies: str) -> Iterator[Any]:
    """Reads a stored definition, with its policies as they are stored."""
    bodies = {name: Policy.from_dict(found) for name, found in decode(policy_bodies).items()}
    resolved = {step: bodies[hash_] for step, hash_ in decode(policies).items()}
    return _parts(Workflow.from_dict(decode(body)), resolved)


def _read_pack(
    path: str, folder: str | None, server_retry: ServerPolicy, limits: PackLimits
) -> Iterator[Any]:
    """Reads the archive of a pack from a file, and yields its manifest."""
    with Path(path).open("rb") as stream:
        yield read_pack(stream, folder, server_retry, limits)


def _parts(workflow: Workflow, policies: dict[str, Policy]) -> Iterator[Any]:
    """Divides a definition into parts: the workflow without its steps, its hash and its text, and then its steps with
    what belongs to each."""
    yield replace(workflow, steps=()), workflow_hash(workflow), encode(workflow.as_dict())
    hashes = {name: policy_hash(policy) for name, policy in policies.items()}
    texts = {hashes[name]: encode(policy.as_dict()) for name, policy in policies.items()}
    names = list(policies)
    for start in range(0, len(workflow.steps), STEPS_IN_PART):
        steps: tuple[Step, ...] = workflow.steps[start : start + STEPS_IN_PART]
        yield steps
    for start in range(0, len(names), STEPS_IN_PART):
        some = names[start : start + STEPS_IN_PART]
        yield {name: policies[name] for name in some}, {hashes[name]: texts[hashes[name]] for name in some}


TASKS: dict[str, Callable[..., Iterator[Any]]] = {
    "check_input": _check_input,
    "count_values": _count_values,
    "read": _read,
    "read_pack": _read_pack,
    "restore": _restore,
    "restore_plan": _restore_plan,
    "translate": _translate,
    "lint": _lint,
}

if __name__ == "__main__":
    main(int(sys.argv[1]))
