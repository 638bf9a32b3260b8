"""Reads the policy that an operator gives a waiting retry. Its fields replace those of the item's policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tenax.errors import Conflict, Finding, InvalidDefinition
from tenax.model.decision import read_ledger
from tenax.model.parse.retry_fields import parse_retry
from tenax.model.policy import Policy, rule_as_dict
from tenax.model.source.findings import format_path
from tenax.policy.operator_transition import too_little
from tenax.policy.plan import Plan, action_of
from tenax.policy.retry.resolve import PolicyError, resolve_policy
from tenax.store.rows import OperatedItem


def rescheduled_policy(plan: Plan, item: OperatedItem, changes: Mapping[str, Any]) -> Policy:
    """Returns the item's policy with these fields changed. It is the same for all items of a step that have the same
    policy. Raises InvalidDefinition for a field that is wrong."""
    before = action_of(plan, item.step, compensates=item.compensates, policy=item.policy).policy.policy
    patch = check_policy(changes)
    known = {name: value for name, value in before.as_dict().items() if name != "forgives_only_lost"}
    rules = patch.get("rules", before.rules)
    try:
        policy = resolve_policy([{**known, "vary": before.vary, **patch, "rules": _as_dicts(rules)}])
    except PolicyError as error:
        raise _invalid(error.findings) from None
    return replace(policy, forgives_only_lost=before.forgives_only_lost)


def check_retry(policy: Policy, item: OperatedItem) -> None:
    """Raises Conflict if the policy would not allow the retry that is planned."""
    reason = too_little(policy, read_ledger(item.ledger, 0.0))
    if reason is not None:
        raise Conflict(
            f"step {item.step} of execution {item.execution_id} cannot wait by this policy: {reason}",
            remedy="allow more with it, or use fail",
        )


def check_policy(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Reads the fields of a policy that change. Raises InvalidDefinition for a field that is wrong."""
    patch, wrong = parse_retry(dict(changes), ())
    if "vary" in changes:
        wrong = [
            *wrong,
            (("vary",), "the overrides of a step are those of its definition, and stay as they are"),
        ]
    if wrong:
        raise _invalid(wrong)
    assert isinstance(patch, dict)
    return patch


def _as_dicts(rules: Any) -> list[Any]:
    return [rule if isinstance(rule, dict) else rule_as_dict(rule) for rule in rules]


def _invalid(findings: Any) -> InvalidDefinition:
    return InvalidDefinition(
        [Finding(message, path=format_path(path), file="policy") for path, message in findings]
    )
