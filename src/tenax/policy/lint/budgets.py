"""Looks at budgets: those that nothing is counted against, and attempts that they cannot pay."""

from __future__ import annotations

from collections.abc import Iterator

from tenax.policy.lint.rule import Fault, rule
from tenax.policy.lint.subject import LintSubject

_WITHOUT_USAGE = ("http", "sleep", "wait")


@rule(
    "TX701",
    "warning",
    "a budget of a step that reports no usage",
    why="Only `python`, `process`, `agent` and `action` steps, and child workflows, report what they use. For others the budget is never spent.",
    remedy="remove `budget`, or set `attempt_cost` in the policy",
    wrong="  - {step: load, type: http, url: 'http://a.test', budget: {cost_usd: 5}}",
    right="  - {step: load, type: http, url: 'http://a.test', budget: {cost_usd: 5}, retry: {max_attempts: 3, attempt_cost: 1}}",
)
def without_usage(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        if (
            one.step.budget is not None
            and one.step.type in _WITHOUT_USAGE
            and one.policy.attempt_cost is None
        ):
            yield (
                one.at("budget"),
                f"the budget of {one.name} is never spent: {one.step.type} steps report no usage",
            )


@rule(
    "TX702",
    "warning",
    "a cost that no budget limits",
    why="`attempt_cost` is charged for an attempt that reports nothing. Without a budget nothing is compared with it.",
    remedy="set `budget` for the step or for the workflow, or remove `attempt_cost`",
    wrong="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 3, attempt_cost: 1}}",
    right="  - {step: load, type: http, url: 'http://a.test', budget: {cost_usd: 3}, retry: {max_attempts: 3, attempt_cost: 1}}",
)
def cost_without_budget(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        if "attempt_cost" in one.own and one.step.budget is None and subject.workflow.budget is None:
            yield (
                one.policy_path("attempt_cost"),
                f"`attempt_cost` of {one.name} has no effect: there is no budget",
            )


@rule(
    "TX703",
    "error",
    "a budget below the cost of one attempt",
    why="Before each attempt the rest of the budget is checked. One that cannot pay a single attempt lets none start.",
    remedy="raise the budget, or lower `attempt_cost`",
    wrong="  - {step: load, type: http, url: 'http://a.test', budget: {cost_usd: 1}, retry: {max_attempts: 3, attempt_cost: 2}}",
    right="  - {step: load, type: http, url: 'http://a.test', budget: {cost_usd: 6}, retry: {max_attempts: 3, attempt_cost: 2}}",
)
def too_small(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        cost, budget = one.policy.attempt_cost, one.step.budget
        if cost is not None and budget is not None and budget.cost_usd is not None and budget.cost_usd < cost:
            yield (
                one.at("budget"),
                f"the budget of {one.name} ({budget.cost_usd:g} $) does not pay one attempt ({cost:g} $)",
            )
