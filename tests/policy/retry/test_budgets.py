"""Step 10 of the decision: what budgets of items and of trees can pay, who waits, and what is charged."""

from __future__ import annotations

from typing import Any

import pytest

from tenax.model.attempt.outcome import Facts, Outcome, Usage
from tenax.model.decision import Controls, Decision, Ledger, TreeBudget
from tenax.model.policy import Policy
from tenax.policy.retry.budgets import is_over, price_of
from tenax.policy.retry.decide import decide, replay
from tenax.policy.retry.resolve import compile_policy

FAILED = Outcome("failed", facts=Facts(exit_code=7))


def run(
    *trees: TreeBudget,
    policy: Policy | None = None,
    cost: float | None = None,
    tokens: int | None = None,
    **more: Any,
) -> Decision:
    ledger = more.pop("ledger", Ledger(tree=bool(trees)))
    outcome = more.pop("outcome", None) or Outcome(
        "failed", facts=Facts(exit_code=7), usage=Usage(cost, tokens)
    )
    return decide(
        compile_policy(policy or Policy(jitter=0.0)), ledger, outcome, attempt=1, elapsed=0.0,
        controls=Controls(budgets=trees, **more), roll=0.5,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("tree", "policy", "cost", "verdict", "rule"),
    [
        (TreeBudget(1, cost_usd=1.0), Policy(), 0.5, "retry", "retry"),
        (TreeBudget(1, cost_usd=1.0), Policy(), 1.0, "fail", "budget"),
        (TreeBudget(1, cost_usd=1.0, spent_usd=0.5), Policy(), 0.5, "fail", "budget"),
        (TreeBudget(1, cost_usd=1.0), Policy(attempt_cost=0.6), 0.5, "fail", "budget"),
        (TreeBudget(1, cost_usd=1.0), Policy(attempt_cost=0.5), 0.5, "retry", "retry"),
        # what is reserved for others may be given back
        (
            TreeBudget(1, cost_usd=1.0, reserved_usd=0.3, in_flight=1),
            Policy(attempt_cost=0.5),
            0.3,
            "hold",
            "budget",
        ),
        (TreeBudget(1, cost_usd=1.0, reserved_usd=0.5, in_flight=1), Policy(), 0.5, "hold", "budget"),
        (
            TreeBudget(1, cost_usd=1.0, reserved_usd=0.2, in_flight=1),
            Policy(attempt_cost=0.5),
            0.3,
            "retry",
            "retry",
        ),
        # the highest cost seen is reserved, but nobody fails for it
        (TreeBudget(1, cost_usd=1.0, in_flight=1, reserved_usd=0.2), Policy(), 0.6, "hold", "budget"),
        (TreeBudget(1, cost_usd=1.0), Policy(), 0.6, "retry", "retry"),
        # the order: exhausted before budget
        (TreeBudget(1, cost_usd=1.0), Policy(max_attempts=1), 1.0, "fail", "attempts_exhausted"),
    ],
)
def test_a_tree(tree, policy, cost, verdict, rule):
    decision = run(tree, policy=policy, cost=cost)
    assert (decision.verdict, decision.rule) == (verdict, rule)


def test_ten_tenths_are_one():
    spent = sum([0.1] * 9)
    assert (
        run(TreeBudget(1, cost_usd=1.1, spent_usd=spent), policy=Policy(attempt_cost=0.1), cost=0.1).verdict
        == "retry"
    )
    assert (
        run(TreeBudget(1, cost_usd=1.0, spent_usd=spent), policy=Policy(attempt_cost=0.1), cost=0.1).verdict
        == "fail"
    )


def test_tokens_of_a_tree():
    assert run(TreeBudget(1, tokens=100), tokens=99).verdict == "retry"
    assert run(TreeBudget(1, tokens=100), tokens=100).verdict == "fail"
    assert run(TreeBudget(1, tokens=100, reserved_tokens=50, in_flight=2), tokens=50).verdict == "hold"


def test_the_narrowest_of_several_trees_decides():
    wide, narrow = TreeBudget(1, cost_usd=9.0), TreeBudget(2, cost_usd=1.0)
    decision = run(wide, narrow, cost=1.0)
    assert decision.rule == "budget"
    assert [check.saw["tree"] for check in decision.checks if check.rule == "budget"] == [1, 2]


def test_a_spent_budget_fails_although_another_one_only_waits():
    waits = TreeBudget(1, cost_usd=1.0, reserved_usd=1.0, in_flight=1)
    assert run(waits, TreeBudget(2, cost_usd=0.2), cost=0.2).verdict == "fail"


@pytest.mark.parametrize(
    ("tree", "verdict"),
    [
        (TreeBudget(1, cost_usd=4.0, reserved_usd=4.0, in_flight=4), "hold"),
        (TreeBudget(1, cost_usd=4.0, spent_usd=3.5), "fail"),
        (TreeBudget(1, cost_usd=4.0, spent_usd=3.0), "retry"),
    ],
)
def test_an_admission_counts_nothing(tree, verdict):
    decision = run(tree, policy=Policy(attempt_cost=1.0), outcome=FAILED, admits=True)
    assert decision.verdict == verdict
    assert decision.after == decision.before


def test_a_decision_on_budgets_can_be_made_again():
    policy = Policy(attempt_cost=0.5, jitter=0.0)
    tree = TreeBudget(1, cost_usd=1.0, reserved_usd=0.3, in_flight=1, highest_usd=0.4)
    decision = run(tree, policy=policy, cost=0.3)
    outcome = Outcome("failed", facts=Facts(exit_code=7), usage=Usage(0.3))
    assert replay(compile_policy(policy), outcome, None, decision.as_dict()).as_dict() == decision.as_dict()


@pytest.mark.parametrize(
    ("policy", "ledger", "tree", "charged"),
    [
        (Policy(attempt_cost=0.5), Ledger(tree=True), TreeBudget(1, cost_usd=9.0, highest_usd=2.0), 0.5),
        (Policy(), Ledger(tree=True, highest_cost=1.5), TreeBudget(1, cost_usd=9.0, highest_usd=2.0), 1.5),
        (Policy(), Ledger(tree=True), TreeBudget(1, cost_usd=9.0, highest_usd=2.0), 2.0),
        (Policy(), Ledger(tree=True), TreeBudget(1, cost_usd=9.0), 0.0),
    ],
)
def test_a_silent_attempt_is_charged(policy, ledger, tree, charged):
    assert run(tree, policy=policy, ledger=ledger, outcome=FAILED).after.cost == charged


def test_without_a_budget_a_silent_attempt_is_charged_nothing():
    assert run(policy=Policy(attempt_cost=0.5), outcome=FAILED).after.cost == 0.0


def test_the_price_of_an_attempt():
    tree = TreeBudget(1, cost_usd=1.0, highest_usd=0.3, highest_tokens=7)
    assert price_of(Policy(attempt_cost=0.1), Ledger(highest_cost=0.2), tree) == (0.1, 7)
    assert price_of(Policy(), Ledger(highest_cost=0.2, highest_tokens=9), tree) == (0.2, 9)
    assert price_of(Policy(), Ledger(), tree) == (0.3, 7)
    assert price_of(Policy(), Ledger()) == (0.0, 0)


def test_exactly_spent_is_not_over():
    assert not is_over(Ledger(budget=1.0, cost=sum([0.1] * 10)))
    assert is_over(Ledger(budget=1.0, cost=1.01))
    assert is_over(Ledger(budget_tokens=5, tokens=6))
    assert not is_over(Ledger(cost=99.0, tokens=99))
