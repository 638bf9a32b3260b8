"""A process beside the server: it reads definitions and checks inputs, one after the other, until its pipe is closed.

The server kills it where it takes too long. Should the server itself be gone by then, a timer of the system does.
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
from typing import Any, BinaryIO

from tenax.errors import InvalidDefinition, TenaxError
from tenax.model.definition.workflow import Input, Step, Workflow
from tenax.model.inputs.inputs import check_input
from tenax.model.json_text import decode, encode, most_values
from tenax.model.parse.parse import Limits, workflow_hash
from tenax.model.policy import Patch, Policy
from tenax.policy.check import load_workflow
from tenax.policy.plan import resolve_policies
from tenax.policy.retry.resolve import policy_hash

NICE = 10
"""The server itself, its database and its workers go first."""
STEPS_IN_PART = 100
"""Of a definition: the server takes it in part by part, and has time for others between two of them."""
_COUNT = struct.Struct("!Q")


def main(memory: int) -> None:
    """Serves requests. `memory`: the bytes of address space that the process may have."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    answers.write(b".")
    answers.flush()
    while len(head := requests.read(_COUNT.size)) == _COUNT.size:
        task, arguments, seconds = pickle.loads(requests.read(_COUNT.unpack(head)[0]))  # noqa: S301 -- the server wrote it
        # By the processor's time: a busy machine must not fail what is short. The system ends the process, whatever it is in.
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
    except (MemoryError, SystemError):  # orjson raises the latter where it gets no memory
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


def _read(source: str, filename: str | None, server_retry: Patch | None, limits: Limits) -> Iterator[Any]:
    """Reads a definition and resolves its policies."""
    workflow = load_workflow(source, filename=filename, server_retry=server_retry, limits=limits)
    return _parts(workflow, resolve_policies(workflow, server_retry))


def _restore(body: str, server_retry: Patch | None) -> Iterator[Any]:
    """Reads a stored definition, and resolves its policies anew."""
    workflow = Workflow.from_dict(decode(body))
    return _parts(workflow, resolve_policies(workflow, server_retry))


def _restore_plan(body: str, policies: str, policy_bodies: str) -> Iterator[Any]:
    """Reads a stored definition, with its policies as they are stored."""
    bodies = {name: Policy.from_dict(found) for name, found in decode(policy_bodies).items()}
    resolved = {step: bodies[hash_] for step, hash_ in decode(policies).items()}
    return _parts(Workflow.from_dict(decode(body)), resolved)


def _parts(workflow: Workflow, policies: dict[str, Policy]) -> Iterator[Any]:
    """The workflow without its steps, its hash and its text; then its steps, each with what belongs to it."""
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
    "restore": _restore,
    "restore_plan": _restore_plan,
}

if __name__ == "__main__":
    main(int(sys.argv[1]))
