"""Defines a workflow, checked and in canonical form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from tenax.model.definition.types import StepType
from tenax.model.policy import Patch
from tenax.model.schedule.schedule import Schedule

COMPENSATION = "compensate:"
"""The prefix of a step's name for the action that undoes it. Names of steps contain no colon."""
DEFAULT_TIMEOUT = 300.0  # seconds of one attempt
DEFAULT_QUEUE = "default"
DEFAULT_PRIORITY = 5
PRIORITIES = range(10)
"""The valid priorities. Items with a higher one start sooner."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Says how many items of a fan-out may fail before the step fails: a number, or a percentage of all items."""

    count: int = 0
    percent: float | None = None

    def allowed(self, total: int) -> int:
        if self.percent is None:
            return self.count
        return int(round(total * self.percent / 100, 8))  # 1000 * 64.1 / 100 is a little less than 641


@dataclass(frozen=True, slots=True)
class Until:
    """Says when a successful step is done. Until the condition holds, it runs again after a delay, and the attempts do not count."""

    condition: str
    delay: float = 5.0
    max_polls: int | None = 1000
    """How often it may run again. None means unlimited."""
    deadline: float | None = None
    """Seconds since the first enqueue after which it does not run again."""


@dataclass(frozen=True, slots=True)
class Concurrency:
    """Limits how many items may run at once in all executions, of the step or of an action, and of each key."""

    limit: int | None = None
    """The limit of all items together. None if only items with the same key are counted."""
    action: str | None = None
    """The steps of all workflows that name this action are counted together. None means only this step of this workflow."""
    key: str | None = None
    """A template. Items for which it gives the same text are counted together."""
    key_limit: int | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits what the attempts of an item, or of an execution with all its descendants, may use together."""

    cost_usd: float | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class OnFailure:
    """Says what replaces a step that failed for good: another step, a value, or nothing."""

    action: Literal["continue", "value", "step"]
    value: Any = None
    """The value of `value`, which may contain templates."""
    step: str | None = None
    """The name of the fallback step of `step`, which runs only after the failure."""


@dataclass(frozen=True, slots=True)
class Step:
    """Is a node of the workflow's graph. Its templates are not rendered."""

    name: str
    type: StepType
    spec: Mapping[str, Any]
    """The keys of its type (`url`, `command`, `task`, ...), with their defaults."""
    needs: tuple[str, ...] = ()
    """The names of the steps for which it waits. Every `next` of the file has become a `needs`."""
    when: str | None = None
    goal: bool = False
    timeout: float | None = DEFAULT_TIMEOUT
    """Seconds of one attempt. None means no limit, for steps that the server carries out."""
    queue: str = DEFAULT_QUEUE
    queue_ttl: float | None = None
    priority: int = DEFAULT_PRIORITY
    labels: Mapping[str, str] = field(default_factory=dict)
    dependency: str | None = None
    retry: Patch | None = None
    for_each: Any = None
    """A list, whose elements may contain templates, or a template that gives a list. None if the step has no fan-out."""
    parallelism: int = 1
    tolerate: Tolerance | None = None
    until: Until | None = None
    on_failure: OnFailure | None = None
    compensate: Step | None = None
    """The action that undoes an item of this step. It has the name of the step."""
    concurrency: Concurrency | None = None
    timeout_inherited: bool = False
    """True if the `timeout` is a default of the workflow, to which the timeout of an action of a pack is preferred."""
    budget: Budget | None = None
    """The budget of each item. Of a step that starts a child: that of the child's tree, over all attempts."""

    def as_dict(self) -> dict[str, Any]:
        """Returns the step as a dict. Keys that the first version of the language did not have are left out at their default."""
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


_LATER = (
    "for_each",
    "parallelism",
    "tolerate",
    "until",
    "on_failure",
    "compensate",
    "concurrency",
    "timeout_inherited",
    "budget",
)
_NESTED = {
    "tolerate": Tolerance,
    "until": Until,
    "on_failure": OnFailure,
    "concurrency": Concurrency,
    "budget": Budget,
}
_STEP_DEFAULTS = {f.name: f.default for f in fields(Step) if f.name in _LATER}


def _plain(value: Any) -> Any:
    return asdict(value) if isinstance(value, Tolerance | Until | OnFailure | Concurrency | Budget) else value


@dataclass(frozen=True, slots=True)
class Input:
    """Holds one declared input: its JSON Schema, and whether it is required."""

    schema: Mapping[str, Any]
    required: bool = False
    has_default: bool = False
    default: Any = None


@dataclass(frozen=True, slots=True)
class Workflow:
    """Is a named definition. Its identity is the hash of `as_dict()`."""

    name: str
    steps: tuple[Step, ...]
    version: str | None = None
    description: str | None = None
    inputs: Mapping[str, Input] = field(default_factory=dict)
    retry: Patch | None = None
    """The policy of `defaults.retry`. The other defaults are merged into the steps."""
    deadline: float | None = None
    outputs: Mapping[str, Any] | None = None
    budget: Budget | None = None
    """The budget of the execution and all its descendants together."""
    schedule: Schedule | None = None
    """When executions start by themselves, once the workflow is stored."""

    def as_dict(self) -> dict[str, Any]:
        """Returns the canonical form, which is stored and hashed, and which `from_dict` reads."""
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
        body = {
            "name": self.name,
            "version": self.version,
            "description": self.description,
            "inputs": inputs,
            "retry": self.retry,
            "deadline": self.deadline,
            "outputs": self.outputs,
            "steps": steps,
        }
        if self.budget is not None:
            body["budget"] = asdict(self.budget)
        if self.schedule is not None:
            body["schedule"] = self.schedule.as_dict()
        return body

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> Workflow:
        steps = tuple(Step.from_dict(step) for step in body["steps"])
        inputs = {name: Input(**i) for name, i in body["inputs"].items()}
        budget = Budget(**body["budget"]) if "budget" in body else None
        schedule = Schedule.from_dict(body["schedule"]) if "schedule" in body else None
        return cls(**{**body, "steps": steps, "inputs": inputs, "budget": budget, "schedule": schedule})
