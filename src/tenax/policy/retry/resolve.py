"""Resolves a policy: levels are merged field by field, checked as a whole, and compiled once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, get_args, get_type_hints

from tenax.model.definition.tiers import TIERS, ServerPolicy, policies_of_server
from tenax.model.definition.workflow import Step, Workflow
from tenax.model.durations import format_duration
from tenax.model.policy import DELAY_FIELDS, NO_POLICY, NO_RETRY, Patch, Policy, Rule
from tenax.policy.expressions.compiler import ExpressionError
from tenax.policy.expressions.conditions import Condition, compile_condition

Path = tuple[str | int, ...]
_REAL = frozenset(name for name, hint in get_type_hints(Policy).items() if float in (hint, *get_args(hint)))
"""Fields of a policy or rule that are real numbers: in them 1 and 1.0 are the same."""


class PolicyError(ValueError):
    """Says why a policy cannot be accepted. Each finding has its key path within `retry`."""

    def __init__(self, findings: Sequence[tuple[Path, str]]) -> None:
        self.findings = tuple(findings)
        self.messages = tuple(f"{_shown(path)}: {message}" if path else message for path, message in findings)
        super().__init__("; ".join(self.messages))


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """Holds one of the policy's own rules, with its delays."""

    rule: Rule
    index: int
    name: str
    key: str
    """Its index as text, which is the key in the ledger's `by_rule`."""
    on: frozenset[str]
    when: Condition | None
    delays: Policy


@dataclass(frozen=True, slots=True)
class CompiledPolicy:
    """Holds a policy that is ready to decide with."""

    policy: Policy
    retry_when: Condition | None
    stop_when: Condition | None
    retry_on: frozenset[str]
    never_on: frozenset[str]
    rules: tuple[CompiledRule, ...]


def resolve_policy(levels: Sequence[Patch | None]) -> Policy:
    """Merges the levels (step, action, tier, workflow, server): each field comes from the nearest level that sets it.

    `true` sets no field, but counts as a policy. `false` sets `max_attempts: 1` and `infra_attempts: 0`, and hides the
    levels further away.
    """
    merged: dict[str, Any] = {}
    given = False
    for level in levels:
        if level is None:
            continue
        given = True
        if level is False:
            merged = {**NO_RETRY, **merged}
            break
        if level is not True:
            merged = {**level, **merged}
    if not given:
        return NO_POLICY
    policy = _build(merged)
    findings = [*_delay_findings(policy, merged), *_condition_findings(policy)]
    if findings:
        raise PolicyError(findings)
    return policy


def levels_of(
    action: Step, workflow: Workflow, server: ServerPolicy, of_pack: Patch | None = None
) -> list[Patch | None]:
    """Returns the levels that give an action its policy, nearest first. `of_pack` is that of the action of a pack."""
    server, tier = policies_of_server(server), action.spec.get("tier")
    of_tier = server.of_tier(tier) if tier in TIERS else None
    return [action.retry, of_pack, of_tier, workflow.retry, server.retry]


def _build(merged: Mapping[str, Any]) -> Policy:
    policy = Policy.from_dict(dict(merged))
    if "max_delay" not in merged and policy.initial_delay > policy.max_delay:
        policy = replace(policy, max_delay=policy.initial_delay)
    return policy


def _delay_findings(policy: Policy, merged: Mapping[str, Any]) -> list[tuple[Path, str]]:
    """Returns a finding if a cap is below the first delay, in the policy and in each of its rules."""
    findings: list[tuple[Path, str]] = []
    if policy.max_delay < policy.initial_delay:
        findings.append((("max_delay",), _too_low(policy.max_delay, policy.initial_delay)))
        return findings
    for index, rule in enumerate(policy.rules):
        initial = policy.initial_delay if rule.initial_delay is None else rule.initial_delay
        if rule.max_delay is not None and rule.max_delay < initial:
            findings.append((("rules", index, "max_delay"), _too_low(rule.max_delay, initial)))
        elif rule.max_delay is None and "max_delay" in merged and policy.max_delay < initial:
            findings.append((("rules", index, "initial_delay"), _too_low(policy.max_delay, initial)))
    return findings


def _too_low(cap: float, initial: float) -> str:
    return (
        f"max_delay ({format_duration(cap)}) is less than initial_delay ({format_duration(initial)}); "
        "raise the one or lower the other"
    )


def _condition_findings(policy: Policy) -> list[tuple[Path, str]]:
    conditions: list[tuple[Path, str | None]] = [
        (("retry_when",), policy.retry_when),
        (("stop_when",), policy.stop_when),
        *((("rules", index, "when"), rule.when) for index, rule in enumerate(policy.rules)),
    ]
    findings: list[tuple[Path, str]] = []
    for path, text in conditions:
        try:
            _compiled(text)
        except ExpressionError as error:
            findings.append((path, str(error)))
    return findings


@lru_cache(maxsize=1024)
def compile_policy(policy: Policy) -> CompiledPolicy:
    """Compiles the conditions of a policy. Raises ExpressionError for a wrong one; `resolve_policy` has
    checked them."""
    return CompiledPolicy(
        policy=policy,
        retry_when=_compiled(policy.retry_when),
        stop_when=_compiled(policy.stop_when),
        retry_on=frozenset(policy.retry_on),
        never_on=frozenset(policy.never_on),
        rules=tuple(_compiled_rule(policy, rule, index) for index, rule in enumerate(policy.rules)),
    )


def _compiled(text: str | None) -> Condition | None:
    return None if text is None else compile_condition(text)


def _compiled_rule(policy: Policy, rule: Rule, index: int) -> CompiledRule:
    own = {name: value for name in DELAY_FIELDS if (value := getattr(rule, name)) is not None}
    delays = replace(policy, **own)
    if rule.max_delay is None and delays.initial_delay > delays.max_delay:
        delays = replace(
            delays, max_delay=delays.initial_delay
        )  # the rule for the default: never below the first delay
    return CompiledRule(
        rule, index, f"rules[{index}]", str(index), frozenset(rule.on), _compiled(rule.when), delays
    )


def policy_hash(policy: Policy) -> str:
    """Returns the identity of a resolved policy: equal content has an equal hash, whatever file it came from."""
    content = policy.as_dict()
    for part in (content, *content["rules"]):
        part.update({name: float(value) for name in _REAL if type(value := part.get(name)) is int})
    body = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(body.encode()).hexdigest()


def _shown(path: Path) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")
