"""Defines the manifest of a pack: its name, its content and its actions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tenax.model.packs.action import ActionDefinition


@dataclass(frozen=True, slots=True)
class Manifest:
    """Describes one content of a pack. Everything in it follows from the files, except a name that only the folder gives."""

    name: str
    hash: str
    version: str | None
    description: str | None
    files: int
    size: int
    """Bytes of all files."""
    actions: Mapping[str, ActionDefinition]
    policies: Mapping[str, Mapping[str, Any]]
    """The retry policy that each action has by itself, with the server's defaults. Operators see it."""

    def as_dict(self) -> dict[str, Any]:
        """Returns the canonical form, which `from_dict` reads."""
        return {
            "name": self.name,
            "hash": self.hash,
            "version": self.version,
            "description": self.description,
            "files": self.files,
            "size": self.size,
            "actions": [action.as_dict() for action in self.actions.values()],
            "policies": {name: dict(policy) for name, policy in self.policies.items()},
        }

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> Manifest:
        actions = [ActionDefinition.from_dict(action) for action in body["actions"]]
        return cls(**{**body, "actions": {action.name: action for action in actions}})
