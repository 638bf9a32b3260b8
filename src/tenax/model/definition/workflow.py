"""A workflow as its author wrote it, checked and in canonical form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args

from tenax.model.policy import Patch

StepType = Literal["python", "http", "process", "sleep", "wait", "workflow"]
STEP_TYPES: tuple[StepType, ...] = get_args(StepType)
SERVER_TYPES: tuple[StepType, ...] = ("sleep", "wait", "workflow")
"""What the server itself carries out: no worker leases it, and no slot is held meanwhile."""

DEFAULT_TIMEOUT = 300.0
DEFAULT_QUEUE = "default"
DEFAULT_PRIORITY = 5
PRIORITIES = range(10)
"""Higher is sooner."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How many items of a fan-out may fail before the step does: a number, or a percentage of all."""

    count: int = 0
    percent: float | None = None

    def allowed(self, total: int) -> int:
        if self.percent is None:
            return self.count
        return int(round(total * self.percent / 100, 8))  # 1000 * 64.1 / 100 is a little less than 641


@dataclass(frozen=True, slots=True)
class Until:
    """A success is not yet done before this holds: it runs again after a delay, uncounted."""

    condition: str
    delay: float = 5.0
    max_polls: int | None = 1000
    """How often it may run again; None is unlimited."""
    deadline: float | None = None
    """Seconds since the first enqueue after which it does not run again."""


@dataclass(frozen=True, slots=True)
class Concurrency:
    """How many items may run at once, in all executions: of the step or of what it names, and of each key."""

    limit: int | None = None
    """Of them all; None: only those of one key are counted."""
    action: str | None = None
    """The steps that name it, of whatever workflow, are counted together. None: this step of this workflow alone."""
    key: str | None = None
    """A template; items for which it gives the same are counted together."""
    key_limit: int | None = None


@dataclass(frozen=True, slots=True)
class OnFailure:
    """What comes in the place of a step that failed for good: another step, a value, or nothing at all."""

    action: Literal["continue", "value", "step"]
    value: Any = None
    """For `value`; may hold templates."""
    step: str | None = None
    """For `step`: the name of the fallback, which runs only then."""


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
    timeout: float | None = DEFAULT_TIMEOUT
    """None, for what the server carries out: as long as it takes."""
    queue: str = DEFAULT_QUEUE
    queue_ttl: float | None = None
    priority: int = DEFAULT_PRIORITY
    labels: Mapping[str, str] = field(default_factory=dict)
    dependency: str | None = None
    retry: Patch | None = None
    for_each: Any = None
    """A list (its elements may hold templates), or a template that gives one. None: no fan-out."""
    parallelism: int = 1
    tolerate: Tolerance | None = None
    until: Until | None = None
    on_failure: OnFailure | None = None
    compensate: Step | None = None
    """The action that undoes what an item of this step did, by the step's own name."""
    concurrency: Concurrency | None = None

    def as_dict(self) -> dict[str, Any]:
        """Keys that came later than the first version of the language are there only where they are used."""
        body = {f.name: getattr(self, f.name) for f in fields(self)}
        body["needs"] = list(self.needs)
        for name in _LATER:
            value = body.pop(name)
            if value != _STEP_DEFAULTS[name]:
                body[name] = value.as_dict() if isinstance(value, Step) else _plain(value)
        return body

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> Step:
        values = {**body, "needs": tuple(body["needs"])}
        for name, kind in _NESTED.items():
            if name in values:
                values[name] = kind(**values[name])
        if "compensate" in values:
            values["compensate"] = cls.from_dict(values["compensate"])
        return cls(**values)


_LATER = ("for_each", "parallelism", "tolerate", "until", "on_failure", "compensate", "concurrency")
_NESTED = {"tolerate": Tolerance, "until": Until, "on_failure": OnFailure, "concurrency": Concurrency}
_STEP_DEFAULTS = {f.name: f.default for f in fields(Step) if f.name in _LATER}


def _plain(value: Any) -> Any:
    return asdict(value) if isinstance(value, Tolerance | Until | OnFailure | Concurrency) else value


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
        steps = [step.as_dict() for step in self.steps]
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
        steps = tuple(Step.from_dict(step) for step in body["steps"])
        inputs = {name: Input(**i) for name, i in body["inputs"].items()}
        return cls(**{**body, "steps": steps, "inputs": inputs})
