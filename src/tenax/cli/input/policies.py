"""Resolves the policies of a workflow as a server with the settings of this machine does."""

from __future__ import annotations

from collections.abc import Mapping

from tenax.model.definition.tiers import ServerPolicy, ServerRetry
from tenax.model.definition.workflow import Workflow
from tenax.model.parse.retry_fields import retry_of_settings
from tenax.model.policy import Policy
from tenax.policy.retry.resolve import levels_of, resolve_policy
from tenax.settings import Settings, load_settings
from tenax.settings.agents import tier_policies


def default_retry(settings: Settings | None = None) -> ServerRetry:
    """Returns the server's default policies from the settings of this machine."""
    settings = settings or load_settings()
    retry = retry_of_settings(settings.retry, settings.sources.get("retry", "the setting retry"))
    return ServerRetry(retry, tier_policies(settings))


def policies_of(workflow: Workflow, server_retry: ServerPolicy) -> Mapping[str, Policy]:
    return {step.name: resolve_policy(levels_of(step, workflow, server_retry)) for step in workflow.steps}
