"""Defines the tiers of agents: cheap ones that are tried often, and dear ones that are tried once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tenax.model.policy import Patch

TIERS = ("legionary", "centurion", "tribune")
Command = str | list[str]
"""A command: a text for `sh -c`, or a list of words."""


@dataclass(frozen=True, slots=True)
class TierDefaults:
    """Holds what a tier gives to the agent steps that name it."""

    retry: Patch | None = None
    """A level of the retry policy, between the step and the workflow."""
    command: Command | None = None
    model: str | None = None


BUILT_IN: Mapping[str, TierDefaults] = MappingProxyType(
    {
        "legionary": TierDefaults({"max_attempts": 3, "initial_delay": 15.0, "jitter": 0.25}),
        "centurion": TierDefaults({"max_attempts": 2, "initial_delay": 30.0, "jitter": 0.25}),
        "tribune": TierDefaults({"max_attempts": 1}),
    }
)
"""The tiers without the setting `tiers`."""


@dataclass(frozen=True, slots=True)
class AgentDefaults:
    """Holds what a worker gives to agent steps that do not say it themselves."""

    command: Command | None = None
    tiers: Mapping[str, TierDefaults] = field(default_factory=lambda: BUILT_IN)

    def command_of(self, spec: Mapping[str, Any]) -> Command | None:
        """Returns the command of the step, else of its tier, else of the setting `agent_command`."""
        of_tier = self.tiers[spec["tier"]].command if spec.get("tier") else None
        return spec.get("command") or of_tier or self.command

    def model_of(self, spec: Mapping[str, Any]) -> str | None:
        of_tier = self.tiers[spec["tier"]].model if spec.get("tier") else None
        return spec.get("model") or of_tier


NO_AGENT_DEFAULTS = AgentDefaults()


@dataclass(frozen=True, slots=True)
class ServerRetry:
    """Holds the policies that the settings of a server give: that of all steps, and that of the agents of each tier."""

    retry: Patch | None = None
    tiers: Mapping[str, Patch | None] | None = None
    """The policies by tier. None means the built-in ones."""

    def of_tier(self, tier: str) -> Patch | None:
        return BUILT_IN[tier].retry if self.tiers is None else self.tiers[tier]


ServerPolicy = ServerRetry | Patch | None
"""The policies of a server. A plain policy has the built-in tiers beside it."""


def policies_of_server(policy: ServerPolicy) -> ServerRetry:
    return policy if isinstance(policy, ServerRetry) else ServerRetry(policy)
