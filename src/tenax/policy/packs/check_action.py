"""Loads action files: reads them, and checks the conditions of their policies."""

from __future__ import annotations

import contextlib

from tenax.model.definition.tiers import ServerPolicy, policies_of_server
from tenax.model.inputs.inputs import DefinitionLimits
from tenax.model.packs.action import ActionDefinition
from tenax.model.parse.action_file import draft_action
from tenax.model.policy import Policy
from tenax.model.source.findings import Findings
from tenax.policy.check import conditions_of
from tenax.policy.expressions.compiler import ExpressionError
from tenax.policy.expressions.conditions import compile_condition, unknown_fields
from tenax.policy.retry.resolve import PolicyError, resolve_policy

_DEFAULT_LIMITS = DefinitionLimits()


def load_action(
    content: bytes,
    filename: str,
    server_retry: ServerPolicy = None,
    limits: DefinitionLimits = _DEFAULT_LIMITS,
) -> tuple[ActionDefinition, Policy]:
    """Loads an action file. Also returns the policy that the action has by itself, without that of a step. Raises
    InvalidDefinition with every mistake."""
    action, findings = draft_action(content, filename, limits)
    policy = _check_policy(action, server_retry, findings)
    findings.raise_if_any()
    assert policy is not None
    return action, policy


def _check_policy(action: ActionDefinition, server_retry: ServerPolicy, findings: Findings) -> Policy | None:
    if isinstance(action.retry, dict):
        for below, text in conditions_of(action.retry):
            with contextlib.suppress(ExpressionError):  # `resolve_policy` reports it
                for fault in unknown_fields(compile_condition(text)):
                    findings.add(("retry", *below), fault)
    try:
        return resolve_policy([action.retry, policies_of_server(server_retry).retry])
    except PolicyError as error:
        for below, message in error.findings:
            own = isinstance(action.retry, dict) and below[0] in action.retry
            findings.add(("retry", *below) if own else ("retry",), message)
        return None
