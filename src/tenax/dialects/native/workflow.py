"""Collects the parts of a workflow that an import makes, and writes them in the order of a workflow file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from tenax.dialects.native.names import Names, of_input
from tenax.dialects.native.policy import policy_fields, schedule_words
from tenax.dialects.reading.fields import Fields
from tenax.dialects.reading.notes import Notes
from tenax.model.policy import Policy
from tenax.model.source.findings import Path
from tenax.model.source.yaml_text import yaml_text

NO_LIMIT = 365 * 86400.0  # seconds; the timeout of attempts that have none in the other system
_ORDER = (
    "step", "type", "needs", "when", "for_each", "parallelism", "tolerate", "goal",
    "action", "url", "method", "headers", "params", "json", "body", "follow_redirects", "async",
    "command", "prompt", "role", "model", "tier", "budget", "env", "cwd", "task", "args",
    "for", "at", "signal", "deadline", "workflow", "file", "input",
    "concurrency", "until", "timeout", "queue", "queue_ttl", "retry", "on_failure",
)  # fmt: skip
_PLACES = {key: place for place, key in enumerate(_ORDER)}

Step = dict[str, Any]


class ForeignText(str):
    """Holds a text with translated templates, and the place in the foreign file that it came from."""

    __slots__ = ("origin", "original")
    origin: Path
    original: str

    def __new__(cls, text: str, original: str, origin: Path) -> Self:
        made = super().__new__(cls, text)
        made.original = original
        made.origin = origin
        return made


@dataclass
class NativeWorkflow:
    """Is a workflow under construction."""

    name: str
    notes: Notes
    steps: list[Step] = field(default_factory=list)
    inputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    description: str | None = None
    version: str | None = None
    deadline: str | float | None = None
    outputs: dict[str, Any] | None = None
    schedule: dict[str, Any] | None = None
    budget: dict[str, Any] | None = None
    """The budget of the tree."""
    names: Names = field(default_factory=Names)
    schemas: dict[str, Path] = field(default_factory=dict)
    """The places in the foreign file of the schemas of inputs, by the names of the inputs."""
    _stand_ins: dict[str, str] = field(default_factory=dict)
    _origins: dict[str, Path] = field(default_factory=dict)
    """The places in the foreign file that the steps were made of, by the names of the steps."""

    def add(self, name: str, kind: str, origin: Fields, **keys: Any) -> Step:
        """Adds a step. Keys that are None or empty are left out; a trailing `_` keeps a key from being a word of Python."""
        step: Step = {"step": name, "type": kind}
        step.update(
            {key.rstrip("_"): value for key, value in keys.items() if value not in (None, [], {}, "")}
        )
        self.steps.append(step)
        self._origins[name] = origin.path
        origin.note("understood", None, f"becomes the step `{name}` of type {kind}")
        return step

    def origin(self, step: Step) -> Path:
        """Returns the place in the foreign file that a step was made of."""
        return self._origins.get(str(step.get("step")), ())

    def declare(self, name: str, /, **schema: Any) -> str:
        """Declares an input, and returns its expression."""
        self.inputs.setdefault(name, schema)
        return of_input(name)

    def stand_in(self, text: ForeignText, why: str) -> str:
        """Declares an input that stands for an expression without a counterpart, and reports it."""
        if text.original in self._stand_ins:
            return of_input(self._stand_ins[text.original])
        name = self._stand_ins[text.original] = self._stand_in_name()
        self.inputs[name] = {"required": True, "description": f"stands for {text.original[:200]}"}
        sentence = f"`{text.original}` has no counterpart ({why}): give its value as the input `{name}`"
        self.notes.add("dropped", text.origin, sentence)
        return of_input(name)

    def _stand_in_name(self) -> str:
        number = 1
        while f"expression_{number}" in self.inputs:
            number += 1
        return f"expression_{number}"

    def as_dict(self) -> dict[str, Any]:
        body: dict[str, Any] = {"name": self.name}
        if self.version is not None:
            body["version"] = self.version
        if self.description:
            body["description"] = self.description
        if self.inputs:
            body["input"] = self.inputs
        if self.deadline is not None:
            body["deadline"] = self.deadline
        if self.budget:
            body["budget"] = self.budget
        if self.schedule:
            body["schedule"] = self.schedule
        if self.outputs:
            body["outputs"] = self.outputs
        body["workflow"] = [_ordered(step) for step in self.steps]
        return body

    def text(self) -> str:
        return yaml_text(self.as_dict())


def set_retry(step: Step, policy: Policy, origin: Fields, key: str | None = None) -> None:
    """Gives a step its policy, and reports its attempts and delays."""
    step["retry"] = policy_fields(policy)
    origin.note("understood", key, f"step `{step['step']}`: {schedule_words(policy)}")


def _ordered(step: Mapping[str, Any]) -> Step:
    return dict(sorted(step.items(), key=lambda item: _PLACES.get(item[0], len(_ORDER))))
