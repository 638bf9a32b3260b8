"""A workflow as its author wrote it, checked and in canonical form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from tenax.model.policy import Patch

StepType = Literal["python", "http", "process"]
STEP_TYPES: tuple[StepType, ...] = get_args(StepType)

DEFAULT_TIMEOUT = 300.0
DEFAULT_QUEUE = "default"
DEFAULT_PRIORITY = 5
PRIORITIES = range(10)
"""Higher is sooner."""


@dataclass(frozen=True, slots=True)
class Step:
    """A node of the workflow's graph. Templates are still text."""

    name: str
    type: StepType
    spec: Mapping[str, Any]
    """The keys of its type (`url`, `command`, `task`, ...), with their defaults filled in."""
    needs: tuple[str, ...] = ()
    """Names of the steps it waits for; every `next` has been turned round into this."""
    when: str | None = None
    goal: bool = False
    timeout: float = DEFAULT_TIMEOUT
    queue: str = DEFAULT_QUEUE
    queue_ttl: float | None = None
    priority: int = DEFAULT_PRIORITY
    labels: Mapping[str, str] = field(default_factory=dict)
    dependency: str | None = None
    retry: Patch | None = None


@dataclass(frozen=True, slots=True)
class Input:
    """One declared input: its JSON Schema, and whether it must be given."""

    schema: Mapping[str, Any]
    required: bool = False
    has_default: bool = False
    default: Any = None


@dataclass(frozen=True, slots=True)
class Workflow:
    """A named definition. Its identity is the hash of `as_dict()`."""

    name: str
    steps: tuple[Step, ...]
    version: str | None = None
    description: str | None = None
    inputs: Mapping[str, Input] = field(default_factory=dict)
    retry: Patch | None = None
    """`defaults.retry`; the other defaults are already in the steps."""
    deadline: float | None = None
    outputs: Mapping[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """The canonical form: what is stored and hashed, and what `from_dict` reads back."""
        steps = [{name: getattr(step, name) for name in Step.__slots__} for step in self.steps]
        for step in steps:
            step["needs"] = list(step["needs"])
        inputs = {
            name: {
                "schema": dict(i.schema),
                "required": i.required,
                "has_default": i.has_default,
                "default": i.default,
            }
            for name, i in self.inputs.items()
        }
        return {
            "name": self.name,
            "version": self.version,
            "description": self.description,
            "inputs": inputs,
            "retry": self.retry,
            "deadline": self.deadline,
            "outputs": self.outputs,
            "steps": steps,
        }

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> Workflow:
        steps = tuple(Step(**{**step, "needs": tuple(step["needs"])}) for step in body["steps"])
        inputs = {name: Input(**i) for name, i in body["inputs"].items()}
        return cls(**{**body, "steps": steps, "inputs": inputs})
