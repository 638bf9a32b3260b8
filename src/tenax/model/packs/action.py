"""Defines an action of a pack, and the action to which a step's reference is bound."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from tenax.model.definition.workflow import Input
from tenax.model.policy import Patch

PackRuntime = Literal["shell", "python", "node", "process"]
PACK_RUNTIMES: tuple[PackRuntime, ...] = get_args(PackRuntime)
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')


@dataclass(frozen=True, slots=True)
class ActionDefinition:
    """Is an action of a pack, as its file declares it."""

    name: str
    runtime: PackRuntime
    entrypoint: str | None = None
    """The path of a script in the pack or, for `python`, `module:function`. None if there is a command."""
    command: str | tuple[str, ...] | None = None
    description: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, Input] = field(default_factory=dict)
    timeout: float | None = None
    """Seconds of one attempt. None if the action does not say."""
    retry: Patch | None = None
    """The action's level of the retry policy."""

    def as_dict(self) -> dict[str, Any]:
        """Returns the canonical form, which `from_dict` reads."""
        return {
            "name": self.name,
            "runtime": self.runtime,
            "entrypoint": self.entrypoint,
            "command": list(self.command) if isinstance(self.command, tuple) else self.command,
            "description": self.description,
            "env": dict(self.env),
            "parameters": parameters_as_dict(self.parameters),
            "timeout": self.timeout,
            "retry": self.retry,
        }

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> ActionDefinition:
        command = body["command"]
        parameters = parameters_from_dict(body["parameters"])
        words = tuple(command) if isinstance(command, list) else command
        return cls(**{**body, "command": words, "parameters": parameters})


@dataclass(frozen=True, slots=True)
class BoundAction:
    """Is the action that a step's reference meant when its execution was submitted."""

    pack: str
    hash: str
    """The content of the pack."""
    definition: ActionDefinition

    @property
    def ref(self) -> str:
        return f"{self.pack}.{self.definition.name}"

    @property
    def descriptor(self) -> str:
        """Returns what a worker needs in order to run the action, as JSON text.

        Within texts, `{` is escaped, so that no part of it is taken for a template.
        """
        action = self.definition.as_dict()
        kept = ("runtime", "entrypoint", "command", "env", "parameters")
        body = {"pack": self.pack, "hash": self.hash, **{key: action[key] for key in kept}}
        text = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return _TEXT.sub(lambda found: found[0].replace("{", "\\u007b"), text)

    def as_dict(self) -> dict[str, Any]:
        return {"pack": self.pack, "hash": self.hash, "definition": self.definition.as_dict()}

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> BoundAction:
        return cls(body["pack"], body["hash"], ActionDefinition.from_dict(body["definition"]))


def parameters_as_dict(parameters: Mapping[str, Input]) -> dict[str, Any]:
    return {
        name: {
            "schema": dict(one.schema),
            "required": one.required,
            "has_default": one.has_default,
            "default": one.default,
        }
        for name, one in parameters.items()
    }


def parameters_from_dict(body: Mapping[str, Any]) -> dict[str, Input]:
    return {name: Input(**one) for name, one in body.items()}
