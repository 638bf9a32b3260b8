"""Gives the options of a worker in this process that the settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tenax.model.definition.tiers import AgentDefaults

if TYPE_CHECKING:
    from tenax.settings.model import Settings


def worker_options(settings: Settings, agents: AgentDefaults) -> dict[str, Any]:
    """Returns the arguments of `Worker` other than its transport, name and runtimes. `agents` is what the settings give to agents."""
    return {
        "queues": settings.queues,
        "labels": settings.labels,
        "slots": settings.slots,
        "drain": settings.drain,
        "overload_lag": settings.overload_lag,
        "http_addresses": settings.http_addresses,
        "max_result": settings.max_result,
        "packs": settings.home / "packs",
        "pack_cache": settings.pack_cache,
        "agents": agents,
    }
