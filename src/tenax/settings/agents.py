"""Reads the settings for agents: the command that runs them, and the defaults of their tiers."""

from __future__ import annotations

from tenax.model.definition.tiers import AgentDefaults
from tenax.model.parse.keys.program_keys import command_of_settings, tiers_of_settings
from tenax.model.policy import Patch
from tenax.settings.model import Settings


def agent_defaults(settings: Settings) -> AgentDefaults:
    command = command_of_settings(settings.agent_command, _source(settings, "agent_command"))
    return AgentDefaults(command, tiers_of_settings(settings.tiers, _source(settings, "tiers")))


def tier_policies(settings: Settings) -> dict[str, Patch | None]:
    """Returns the retry policy of each tier."""
    tiers = tiers_of_settings(settings.tiers, _source(settings, "tiers"))
    return {name: tier.retry for name, tier in tiers.items()}


def _source(settings: Settings, name: str) -> str:
    return settings.sources.get(name, f"the setting {name}")
