"""Resolves the policies of a workflow as a server with the settings of this machine does."""

from __future__ import annotations

from collections.abc import Mapping

from tenax.model.definition.workflow import Workflow
from tenax.model.parse.retry_fields import retry_of_settings
from tenax.model.policy import Patch, Policy
from tenax.policy.retry.resolve import resolve_policy
from tenax.settings import Settings, load_settings


def default_retry(settings: Settings | None = None) -> Patch | None:
    """Returns the server's default policy from the settings of this machine."""
    settings = settings or load_settings()
    return retry_of_settings(settings.retry, settings.sources.get("retry", "the setting retry"))


def policies_of(workflow: Workflow, server_retry: Patch | None) -> Mapping[str, Policy]:
    return {step.name: resolve_policy([step.retry, workflow.retry, server_retry]) for step in workflow.steps}
