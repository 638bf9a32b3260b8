"""Declares the whole workflow file: its steps by type, its compensations, its defaults and its top level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field

from tenax.model.definition.types import SERVER_TYPES, STEP_TYPES, StepType
from tenax.model.definition.workflow import DEFAULT_PRIORITY, DEFAULT_QUEUE
from tenax.model.inputs.inputs import INPUT_KEYWORDS, MAX_INPUTS
from tenax.model.names import WORKFLOW_NAME, is_workflow_name
from tenax.model.parse.field_types import DURATION, LABEL, MAPPING, NAME, TEXT, mapping, text
from tenax.model.parse.keys.action_keys import ActionKeys
from tenax.model.parse.keys.own_keys import OwnKeys
from tenax.model.parse.keys.program_keys import AgentKeys, ProcessKeys
from tenax.model.parse.keys.schedule_keys import ScheduleKeys
from tenax.model.parse.keys.step_keys import (
    PRIORITY,
    BudgetedKeys,
    BudgetKeys,
    PolledKeys,
    StepKeys,
    WorkerKeys,
)
from tenax.model.parse.keys.step_types import (
    SPEC_KEYS,
    ChildKeys,
    HttpKeys,
    HttpRequest,
    PythonKeys,
    SleepKeys,
    WaitKeys,
)
from tenax.model.parse.retry_fields import RETRY, RetryFields
from tenax.model.parse.shape import DeferredReader, JsonSchema, Mismatch, Shape, ValueReader, declare
from tenax.model.source.findings import shorten, suggest

COMPENSATE_TYPES: tuple[StepType, ...] = tuple(name for name in STEP_TYPES if name not in SERVER_TYPES)

_JSON_TYPE: JsonSchema = {"enum": ["null", "boolean", "object", "array", "number", "string", "integer"]}
_SERVER = "the server itself carries it out, without a worker"


# -- compensations


class CompensationKeys(Shape):
    type: Any = declare(
        f"one of {', '.join(f'`{kind}`' for kind in COMPENSATE_TYPES)}",
        needed=f"write one of {', '.join(COMPENSATE_TYPES)}",
        stand_in=None,
    )
    retry: Any = declare("the [retry policy](policy.md). Without one there is a single attempt", RETRY)

    @classmethod
    def unknown_key_message(cls, key: str) -> str:
        if key == "async":
            return "a compensation cannot be async: what undoes must have ended with its answer"
        if key in STEP_KEYS:
            return f"`{key}` cannot stand in `compensate`: it is one action, and no step of the graph"
        return f"unknown key `{shorten(key)}` in `compensate`{suggest(key, cls.known())}"

    @classmethod
    def known(cls) -> tuple[str, ...]:
        return cls.key_names()


class HttpCompensation(HttpRequest, WorkerKeys, CompensationKeys):
    type: Literal["http"] = declare("calls a web address", needed="every step has a type")


class ProcessCompensation(ProcessKeys, WorkerKeys, CompensationKeys):
    type: Literal["process"] = declare("runs a program", needed="every step has a type")


class AgentCompensation(AgentKeys, WorkerKeys, CompensationKeys):
    type: Literal["agent"] = declare("runs an agent", needed="every step has a type")


class PythonCompensation(PythonKeys, WorkerKeys, CompensationKeys):
    type: Literal["python"] = declare("calls a Python function", needed="every step has a type")


class ActionCompensation(ActionKeys, WorkerKeys, CompensationKeys):
    type: Literal["action"] = declare("runs an action of a pack", default="action")


Compensation = Annotated[
    HttpCompensation | ProcessCompensation | AgentCompensation | PythonCompensation | ActionCompensation,
    Field(discriminator="type"),
]


# -- steps


class CompensatedKeys(Shape):
    compensate: Any = declare(
        "[what undoes the step](#compensate) if the execution fails",
        DeferredReader(mapping, lambda: Compensation),
    )


class TypedStep(StepKeys):
    """Declares a step of a known type. `own` holds the keys of that type."""

    own: ClassVar[type[OwnKeys]] = OwnKeys

    @classmethod
    def unknown_key_message(cls, key: str) -> str:
        kind = next(name for name, keys in STEPS.items() if keys is cls)
        refused = refused_keys(kind)
        owners = [other for other, keys in SPEC_KEYS.items() if key in keys]
        if key in refused:
            return f"`{key}` cannot stand in a {kind} step: {refused[key]}"
        if owners:
            return f"`{key}` belongs to {' and '.join(owners)} steps; this one is {kind}"
        article = "an" if kind in ("http", "action", "agent") else "a"
        hint = suggest(key, cls.key_names())
        return f"unknown key `{shorten(key)}` in {article} {kind} step{hint}"


class WorkerStep(CompensatedKeys, BudgetedKeys, PolledKeys, WorkerKeys, TypedStep):
    """Declares a step that workers carry out."""


class HttpStep(HttpKeys, WorkerStep):
    own = HttpKeys
    type: Literal["http"] = declare("calls a web address", needed="every step has a type")


class ProcessStep(ProcessKeys, WorkerStep):
    own = ProcessKeys
    type: Literal["process"] = declare("runs a program", needed="every step has a type")


class AgentStep(AgentKeys, WorkerStep):
    own = AgentKeys
    type: Literal["agent"] = declare("runs an [agent](agents.md)", needed="every step has a type")


class PythonStep(PythonKeys, WorkerStep):
    own = PythonKeys
    type: Literal["python"] = declare("calls a Python function", needed="every step has a type")


class ActionStep(ActionKeys, WorkerStep):
    own = ActionKeys
    type: Literal["action"] = declare("runs an [action of a pack](packs.md)", default="action")


class SleepStep(SleepKeys, TypedStep):
    own = SleepKeys
    type: Literal["sleep"] = declare("waits for a time", needed="every step has a type")


class WaitStep(WaitKeys, TypedStep):
    own = WaitKeys
    type: Literal["wait"] = declare("waits for a signal, or for an approval", needed="every step has a type")


class ChildStep(ChildKeys, CompensatedKeys, BudgetedKeys, TypedStep):
    own = ChildKeys
    type: Literal["workflow"] = declare("runs another workflow", needed="every step has a type")
    timeout: float | None = declare("the longest time of one attempt (none by default)", DURATION)


AnyStep = Annotated[
    PythonStep | HttpStep | ProcessStep | AgentStep | ActionStep | SleepStep | WaitStep | ChildStep,
    Field(discriminator="type"),
]
STEPS: Mapping[StepType, type[TypedStep]] = {
    "http": HttpStep,
    "process": ProcessStep,
    "agent": AgentStep,
    "python": PythonStep,
    "action": ActionStep,
    "sleep": SleepStep,
    "wait": WaitStep,
    "workflow": ChildStep,
}
COMPENSATIONS: Mapping[StepType, type[CompensationKeys]] = {
    "http": HttpCompensation,
    "process": ProcessCompensation,
    "agent": AgentCompensation,
    "python": PythonCompensation,
    "action": ActionCompensation,
}
STEP_KEYS = WorkerStep.key_names()


def refused_keys(step_type: StepType) -> dict[str, str]:
    """Returns the keys that a step of this type cannot have although others can, with the reasons."""
    refused = {key: _SERVER for key in STEP_KEYS if key not in STEPS[step_type].key_names()}
    if "compensate" in refused:
        refused["compensate"] = "it does nothing that could be undone"
    if step_type == "wait":
        refused["timeout"] += "; how long it waits at most is its `deadline`"
    return refused


def keys_of_types(types: tuple[StepType, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key for kind in types for key in SPEC_KEYS[kind]))


class UntypedStep(WorkerStep):
    """Declares a step of an unknown type. It accepts the keys of all types with any value."""

    model_config = ConfigDict(extra="allow")

    @classmethod
    def unknown_key_message(cls, key: str) -> str:
        return (
            f"unknown key `{shorten(key)}` in a step{suggest(key, (*STEP_KEYS, *keys_of_types(STEP_TYPES)))}"
        )


class UntypedCompensation(WorkerKeys, CompensationKeys):
    """Declares a compensation of an unknown type. It accepts the keys of all types with any value."""

    model_config = ConfigDict(extra="allow")

    @classmethod
    def known(cls) -> tuple[str, ...]:
        return (*cls.key_names(), *keys_of_types(STEP_TYPES))


COMPENSATE_KEYS = UntypedCompensation.key_names()


# -- the file


class DefaultsKeys(Shape):
    """Declares the values that apply to all steps without values of their own."""

    within = "in `defaults`"

    retry: Any = declare("the [policy](policy.md) of every step", RETRY)
    timeout: float | None = declare("of each attempt", DURATION, extra={"default": "5m"})
    queue: str | None = declare("the queue of the steps", NAME, extra={"default": DEFAULT_QUEUE})
    queue_ttl: float | None = declare("how long a step may wait for a worker", DURATION)
    priority: int | None = declare(
        "0 to 9; a higher priority runs sooner", PRIORITY, extra={"default": DEFAULT_PRIORITY}
    )


def _workflow_name(value: Any) -> str:
    if not is_workflow_name(text(value)):
        raise ValueError(f"`{shorten(value)}` is not a name: use up to 200 letters, digits, _, - and .")
    return str(value)


def _steps(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise Mismatch("a list of steps")
    if not value:
        raise ValueError("a workflow has at least one step")
    return value


INPUT: JsonSchema = {
    "type": "object",
    "properties": {
        **{keyword: {} for keyword in INPUT_KEYWORDS if not keyword.startswith("$")},
        "type": {"anyOf": [_JSON_TYPE, {"type": "array", "items": _JSON_TYPE}]},
        "required": {
            "type": ["boolean", "array"],
            "description": "true: the input must be given. In an object's schema a list of its properties",
        },
        "default": {"description": "the value where none is given"},
    },
    # Names with a dollar are given as a pattern, because pydantic takes a property named $ref for a reference.
    "patternProperties": {rf"^\{keyword}$": {} for keyword in INPUT_KEYWORDS if keyword.startswith("$")},
    "additionalProperties": False,
    "not": {"required": ["required", "default"], "properties": {"required": {"const": True}}},
}


class WorkflowFile(Shape):
    """A workflow of Tenax."""

    within = "at the top of the file"

    name: str = declare(
        "its name: letters, digits, `_`, `-` and `.`",
        ValueReader(_workflow_name, {"type": "string", "pattern": f"^{WORKFLOW_NAME}$"}),
        needed="every workflow has a name (`name: nightly-sync`)",
        stand_in="unread",
    )
    version: str | None = declare("a label; the identity of a definition is the hash of its content", LABEL)
    description: str | None = declare("what it does, for people", TEXT)
    input: dict[str, Any] = declare(
        "the [inputs](#inputs) by name: each a JSON Schema, plus `required` and `default`",
        ValueReader(mapping, {"type": "object", "additionalProperties": INPUT, "maxProperties": MAX_INPUTS}),
        default={},
    )
    defaults: Any = declare(
        "values for the steps that do not set them", DeferredReader(mapping, lambda: DefaultsKeys)
    )
    deadline: float | None = declare("of the whole execution: then it fails, class `timeout`", DURATION)
    budget: BudgetKeys | None = declare(
        "the [budget](agents.md#budgets) of the execution and all its descendants together"
    )
    schedule: ScheduleKeys | None = declare(
        "when executions start by themselves, once the workflow is stored. See [schedules](schedules.md)"
    )
    outputs: dict[str, Any] | None = declare(
        "the result; without it the result is {goal step: its result}", MAPPING
    )
    workflow: list[Any] = declare(
        "the steps",
        DeferredReader(_steps, lambda: list[AnyStep]),
        needed="the list of steps",
        stand_in=[None],
        extra={"minItems": 1},
    )


WORKFLOW_KEYS = WorkflowFile.key_names()
DEFAULTS_KEYS = DefaultsKeys.key_names()


def build_validators() -> None:
    """Builds the validators of all mappings now. Otherwise each is built when it is first used."""
    shapes: list[type[Shape]] = [WorkflowFile, DefaultsKeys, RetryFields]
    for shape in (*shapes, *STEPS.values(), *COMPENSATIONS.values()):
        shape.model_rebuild()
