"""Defines the retry policy: its fields, their defaults, and its rules. `tenax.policy` applies them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from tenax.model.durations import Seconds

Backoff = Literal["none", "fixed", "linear", "exponential", "fibonacci", "decorrelated"]
Jitter = float | Literal["full", "equal"]


@dataclass(frozen=True, slots=True)
class Rule:
    """Overrides the policy for one kind of failure. A field that is None leaves the policy's value."""

    on: tuple[str, ...] = ()
    when: str | None = None
    retry: bool | None = None
    max_attempts: int | None = None
    """The largest number of attempts that this rule matched."""
    backoff: Backoff | None = None
    initial_delay: Seconds | None = None
    backoff_multiplier: float | None = None
    max_delay: Seconds | None = None
    jitter: Jitter | None = None
    honor_retry_after: bool | None = None
    max_retry_after: Seconds | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """Is a resolved policy, in which every field has its value. Durations are in seconds. `max_attempts` None means unlimited."""

    max_attempts: int | None = 3
    retryable: bool = True
    backoff: Backoff = "exponential"
    initial_delay: Seconds = 1.0
    backoff_multiplier: float = 2.0
    max_delay: Seconds = 300.0
    jitter: Jitter = 0.2
    retry_when: str | None = None
    stop_when: str | None = None
    retry_on: tuple[str, ...] = ()
    never_on: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    infra_attempts: int = 2
    give_up_after: Seconds | None = None
    honor_retry_after: bool = True
    max_retry_after: Seconds = 3600.0
    attempt_cost: float | None = None
    max_snoozes: int = 100
    vary: tuple[str, ...] = ()
    """Overrides of the step's keys, each a mapping in canonical JSON. Entry k applies from the k-th counted attempt on."""
    forgives_only_lost: bool = False
    """True if `infra_attempts` exempts `worker_lost` only. It is True if no level gives a policy, and no file can set it."""

    def as_dict(self) -> dict[str, Any]:
        """Returns the policy as it is stored and hashed: with every field, and rules without their empty fields.

        `vary` and `forgives_only_lost` are left out at their defaults, so that policies stored before these fields existed keep
        their hashes. `infra_attempts` is always written, so that a stored policy does not follow a change of its default.
        """
        body: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        body["retry_on"] = list(self.retry_on)
        body["never_on"] = list(self.never_on)
        body["rules"] = [rule_as_dict(rule) for rule in self.rules]
        if self.vary:
            body["vary"] = list(self.vary)
        else:
            del body["vary"]
        if not self.forgives_only_lost:
            del body["forgives_only_lost"]
        return body

    @classmethod
    def from_dict(cls, body: dict[str, Any]) -> Policy:
        values = dict(body)
        values["retry_on"] = tuple(body.get("retry_on", ()))
        values["never_on"] = tuple(body.get("never_on", ()))
        values["vary"] = tuple(body.get("vary", ()))
        values["rules"] = tuple(Rule(**{**r, "on": tuple(r.get("on", ()))}) for r in body.get("rules", ()))
        return cls(**values)


DELAY_FIELDS = tuple(
    f.name for f in fields(Rule) if f.name in Policy.__dataclass_fields__ and f.name != "max_attempts"
)
"""The fields that a rule may override for the delay after its failures."""


def rule_as_dict(rule: Rule) -> dict[str, Any]:
    body: dict[str, Any] = {"on": list(rule.on)} if rule.on else {}
    for f in fields(rule):
        value = getattr(rule, f.name)
        if f.name != "on" and value is not None:
            body[f.name] = value
    return body


NO_POLICY = Policy(max_attempts=1, forgives_only_lost=True)
"""The policy if no level gives one: one attempt, which a lost worker does not use up."""

NO_RETRY: dict[str, Any] = {"max_attempts": 1, "infra_attempts": 0}
"""The fields of `retry: false`: strictly one run."""

Patch = bool | dict[str, Any]
"""The policy of one level (step, action, workflow, server): `true`, `false`, or the fields that it sets, parsed and checked."""
