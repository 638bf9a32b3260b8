"""Reads the ledger for `tenax decide`: as people write it, or as a recorded decision has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from msgspec.structs import replace

from tenax.cli.input.decide_values import (
    Reader,
    Readers,
    amount,
    class_counts,
    read_keys,
    read_object,
    readers_of,
    rule_counts,
    whole_from_zero,
)
from tenax.model.attempt.outcome import Failure, FailureClass, Outcome, Usage
from tenax.model.decision import Ledger
from tenax.model.policy import Policy
from tenax.policy.retry.ledger import forgiven_classes, is_exempted


@dataclass(frozen=True, slots=True)
class LedgerEntries:
    """Holds the ledger as people write it. It includes the attempt that has just ended; a decision starts without it."""

    attempts: int = 1
    by_class: Mapping[str, int] = field(default_factory=dict)
    by_rule: Mapping[str, int] | None = None
    elapsed: float = 0.0
    previous_delay: float | None = None
    cost: float | None = None
    budget: float | None = None
    snoozes: int = 0
    polls: int = 0
    number: int | None = None

    def attempt(self, before: Ledger) -> int:
        """Returns the number of the attempt. Unless it is given, it follows the number of all earlier attempts."""
        so_far = before.counted + before.exempted + before.snoozes + before.polls
        return self.number if self.number is not None else so_far + 1

    def before(self, policy: Policy, failure: Failure | None, matched: int | None = None) -> Ledger:
        """Returns the ledger without this attempt: one attempt fewer in all, in its class, and in the rule that matched it.

        The number of attempts that `infra_attempts` exempted follows from the classes.
        """
        by_class = dict(self.by_class)
        if failure is not None and by_class.get(failure.failure_class):
            by_class[failure.failure_class] -= 1
        lost = sum(
            count
            for name, count in by_class.items()
            if is_exempted(policy, Ledger(), cast("FailureClass", name))
        )
        exempted = min(lost, policy.infra_attempts)
        return Ledger(
            counted=max(self.attempts - 1, 0),
            exempted=exempted,
            by_rule=_rules_by_class(policy, by_class, exempted)
            if self.by_rule is None
            else _less_one(self.by_rule, matched),
            by_class={name: count for name, count in by_class.items() if count},
            snoozes=self.snoozes,
            elapsed=self.elapsed,
            previous_delay=self.previous_delay,
            cost=self.cost or 0.0,
            budget=self.budget,
            polls=self.polls,
        )

    def priced(self, outcome: Outcome) -> Outcome:
        """Returns the outcome without its cost if the ledger has one, which already includes this attempt."""
        return outcome if self.cost is None else replace(outcome, usage=Usage(cost_usd=0.0))


@dataclass(frozen=True, slots=True)
class StoredLedger:
    """Holds the `before` ledger of a recorded decision: without the attempt that has just ended."""

    ledger: Ledger
    number: int | None = None

    def attempt(self, before: Ledger) -> int:
        return LedgerEntries(number=self.number).attempt(before)

    def before(self, policy: Policy, failure: Failure | None, matched: int | None = None) -> Ledger:  # noqa: ARG002 - as of LedgerEntries
        return self.ledger

    def priced(self, outcome: Outcome) -> Outcome:
        return outcome


def _rules_by_class(policy: Policy, by_class: Mapping[str, int], exempted: int) -> dict[str, int]:
    """Returns the number of attempts that each rule matched, as far as their classes tell. Exempted attempts are not included."""
    counts: dict[str, int] = {}
    for name, count in by_class.items():
        index = next((str(n) for n, rule in enumerate(policy.rules) if name in rule.on), None)
        if index is not None:
            counts[index] = counts.get(index, 0) + max(
                0, count - (exempted if name in forgiven_classes(policy) else 0)
            )
    return counts


def _less_one(by_rule: Mapping[str, int], matched: int | None) -> dict[str, int]:
    counts = {index: count - (index == str(matched)) for index, count in by_rule.items()}
    return {index: count for index, count in counts.items() if count > 0}


def read_given_ledger(given: str | None) -> LedgerEntries | StoredLedger:
    """Reads the ledger. Only a recorded ledger has the key `counted`."""
    if given is None:
        return LedgerEntries()
    body = read_object(given, "--ledger")
    if "counted" not in body:
        return LedgerEntries(**read_keys(body, _LEDGER, "--ledger"))
    values = read_keys(body, _STORED_LEDGER, "--ledger")
    return StoredLedger(number=values.pop("number", None), ledger=Ledger(**values))


_SPECIAL: Mapping[str, Reader] = {
    "by_class": class_counts,
    "by_rule": rule_counts,
    "cost": amount,
    "budget": amount,
    "highest_cost": amount,
}
_LEDGER = readers_of(LedgerEntries, integers=whole_from_zero, special=_SPECIAL, renamed={"number": "attempt"})
_STORED_LEDGER: Readers = {
    **readers_of(Ledger, integers=whole_from_zero, special=_SPECIAL),
    "attempt": ("number", whole_from_zero),
}
"""The keys of `Ledger.as_dict`, and the number of the attempt."""
