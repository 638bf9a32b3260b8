"""Computes the ledger of an item after an attempt has ended."""

from __future__ import annotations

from msgspec.structs import replace

from tenax.model.attempt.outcome import INFRASTRUCTURE, FailureClass, Outcome
from tenax.model.decision import Ledger, TreeBudget
from tenax.model.policy import Policy

_NEVER_RAN: frozenset[FailureClass] = frozenset({"worker_unavailable", "queue_timeout"})
"""Ends in which no worker started the attempt, so it cannot have cost anything."""
_LOST: frozenset[FailureClass] = frozenset({"worker_lost"})


def is_exempted(policy: Policy, ledger: Ledger, failure_class: FailureClass) -> bool:
    """Returns whether `infra_attempts` forgives this attempt.

    Nothing is forgiven with unlimited attempts, which have no limit to count against, or with `retryable: false`.
    """
    return (
        ledger.exempted < policy.infra_attempts
        and failure_class in forgiven_classes(policy)
        and policy.max_attempts is not None
        and policy.retryable
    )


def forgiven_classes(policy: Policy) -> frozenset[FailureClass]:
    """Returns the failure classes that `infra_attempts` forgives."""
    return _LOST if policy.forgives_only_lost else INFRASTRUCTURE


def charge(
    policy: Policy,
    ledger: Ledger,
    outcome: Outcome,
    failure_class: FailureClass | None,
    trees: tuple[TreeBudget, ...] = (),
) -> tuple[float, float | None]:
    """Returns the cost so far including this attempt's, and the highest cost of any attempt.

    An attempt that reports no cost is charged only if there is a budget: with `attempt_cost`, else with the highest
    cost so far, of the item or else of its step in the tree.
    """
    reported = outcome.usage.cost_usd if outcome.usage is not None else None
    if reported is not None:
        highest = ledger.highest_cost
        return ledger.cost + reported, reported if highest is None else max(highest, reported)
    if not _is_charged(ledger, outcome, failure_class):
        return ledger.cost, ledger.highest_cost
    assumed = policy.attempt_cost if policy.attempt_cost is not None else ledger.highest_cost
    if assumed is None and trees:
        assumed = trees[0].highest_usd
    return ledger.cost + (assumed or 0.0), ledger.highest_cost


def charge_tokens(
    ledger: Ledger,
    outcome: Outcome,
    failure_class: FailureClass | None,
    trees: tuple[TreeBudget, ...] = (),
) -> tuple[int, int | None]:
    """Returns the tokens so far including this attempt's, and the most tokens of any attempt. An attempt that reports no
    usage at all is charged with the most so far, if there is a budget."""
    reported = outcome.usage.tokens if outcome.usage is not None else None
    if reported is not None:
        highest = ledger.highest_tokens
        return ledger.tokens + reported, reported if highest is None else max(highest, reported)
    if outcome.usage is not None or not _is_charged(ledger, outcome, failure_class):
        return ledger.tokens, ledger.highest_tokens
    assumed = ledger.highest_tokens
    if assumed is None and trees:
        assumed = trees[0].highest_tokens
    return ledger.tokens + (assumed or 0), ledger.highest_tokens


def _is_charged(ledger: Ledger, outcome: Outcome, failure_class: FailureClass | None) -> bool:
    """Returns whether an attempt that reports nothing is charged."""
    has_budget = ledger.budget is not None or ledger.budget_tokens is not None or ledger.tree
    return has_budget and failure_class not in _NEVER_RAN and outcome.status != "snoozed"


def ledger_after(
    policy: Policy,
    ledger: Ledger,
    outcome: Outcome,
    *,
    elapsed: float,
    failure_class: FailureClass | None = None,
    rule: str | None = None,
    snoozed: bool = False,
    polled: bool = False,
    lost_worker: str | None = None,
    trees: tuple[TreeBudget, ...] = (),
) -> Ledger:
    """Returns the ledger after an attempt with this end. `rule` is the key of the policy's own rule that decided.
    `trees` are the budgets that the attempt is charged to."""
    lost_by = ledger.lost_by
    if lost_worker is not None and lost_worker not in lost_by:
        lost_by = (*lost_by, lost_worker)
    cost, highest = charge(policy, ledger, outcome, failure_class, trees)
    tokens, most_tokens = charge_tokens(ledger, outcome, failure_class, trees)
    exempted = failure_class is not None and is_exempted(policy, ledger, failure_class)
    by_class, by_rule = ledger.by_class, ledger.by_rule
    if failure_class is not None:
        by_class = {**by_class, failure_class: by_class.get(failure_class, 0) + 1}
    if rule is not None and not exempted:
        by_rule = {**by_rule, rule: by_rule.get(rule, 0) + 1}
    return Ledger(
        ledger.counted if exempted or snoozed or polled else ledger.counted + 1,
        ledger.exempted + 1 if exempted else ledger.exempted,
        by_class,
        by_rule,
        ledger.snoozes + 1 if snoozed else ledger.snoozes,
        elapsed,
        ledger.previous_delay,
        cost,
        ledger.budget,
        highest,
        ledger.polls + 1 if polled else ledger.polls,
        lost_by,
        ledger.granted,
        ledger.reopened,
        tokens,
        ledger.budget_tokens,
        most_tokens,
        ledger.tree,
    )


def granted_one_more(ledger: Ledger) -> Ledger:
    """Returns the ledger of an ended item that an operator starts again: it gets one attempt beyond its limit."""
    return replace(ledger, granted=ledger.granted + 1, reopened=ledger.reopened + 1)


def reset_ledger(ledger: Ledger, *, reopens: bool) -> Ledger:
    """Returns the ledger of an item that an operator resets: nothing is counted yet, and its clock starts anew. Its
    cost, and what was started again, stay. `reopens` tells whether the item had ended. An item that has cost workers
    their lease may have a dead letter, which its later end must find: it counts as started again."""
    return Ledger(
        cost=ledger.cost,
        budget=ledger.budget,
        highest_cost=ledger.highest_cost,
        reopened=ledger.reopened + 1 if reopens or ledger.lost_by else ledger.reopened,
        tokens=ledger.tokens,
        budget_tokens=ledger.budget_tokens,
        highest_tokens=ledger.highest_tokens,
        tree=ledger.tree,
    )
