"""Defines the views of packs and of their actions."""

from __future__ import annotations

from typing import Any

from tenax.model.values import View


class ActionParameter(View):
    """Describes a parameter of an action."""

    required: bool
    schema: dict[str, Any]
    """The JSON Schema of its values."""
    default: Any = None


class PackActionInfo(View):
    """Describes an action of an installed pack."""

    ref: str
    """PACK.ACTION, by which steps refer to it."""
    pack: str
    version: str | None
    """The version of the pack."""
    hash: str
    """The content of the pack."""
    description: str | None
    runtime: str
    entrypoint: str | None
    command: str | list[str] | None
    env: dict[str, str]
    timeout: float | None
    """Seconds of one attempt, for steps without a timeout. Null: that of the workflow."""
    retry: Any
    """The action's level of the policy. Null: none."""
    max_attempts: int | None
    """The attempts that the action's policy allows, if a step changes nothing. Null: unlimited."""
    parameters: dict[str, ActionParameter]


class PackInfo(View):
    """Describes an installed pack. Its hash is its identity."""

    name: str
    version: str | None
    description: str | None
    hash: str
    files: int
    size: int
    """Bytes of all files."""
    actions: list[str]
    """The references to its actions."""
    installed_at: str
    installed_by: str


class InstalledPackAnswer(View):
    name: str
    version: str | None
    hash: str
    actions: list[str]
    replaced: str | None
    """The content that the name meant before. Null: the pack is new."""
    created: bool
    """False if the name meant this content before."""


class RemovedPack(View):
    name: str
    hash: str
    removed: bool
