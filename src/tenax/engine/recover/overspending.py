"""Ends attempts and trees that have spent more than their budget: running attempts of items with a budget of their own, and
whole trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import UNSET

from tenax.engine.context import EngineContext
from tenax.engine.graph.compensation import write
from tenax.engine.graph.end_execution import cancel_items, fail_execution
from tenax.engine.graph.recorded_results import ResultsRecorded, with_recorded_results
from tenax.engine.graph.settle import settle, settle_recorded
from tenax.engine.notifier import announce
from tenax.model.attempt.outcome import Facts, Outcome, Usage
from tenax.model.decision import read_ledger
from tenax.model.events import event
from tenax.model.events.budget_data import BudgetExceededData
from tenax.model.events.types import BudgetExceeded
from tenax.policy.outcome_events import EndedAttempt
from tenax.policy.plan import Plan
from tenax.policy.retry.budgets import PLACES
from tenax.store.budgets import attempt_usage, budgets
from tenax.store.budgets.attempt_usage import OverspentTree, ToldItem
from tenax.store.journal import Journal
from tenax.store.tables import live_items

TOLD_ITEMS = 1_000  # running attempts that are looked at together


async def end_overspent_attempts(context: EngineContext, but: Sequence[int]) -> int:
    """Ends running attempts that have reported more usage than the budget of their item has left. Returns their number."""
    ended = after = 0
    while True:
        async with context.transaction() as tx:
            told = await attempt_usage.find_told_items(tx, but, after, TOLD_ITEMS)
            plans = await context.plans.load(tx, {item.plan_id for item in told})
        over = {
            item.id: item for item in told if item.plan_id in plans and _is_over(plans[item.plan_id], item)
        }
        ended += await _end_attempts(context, over)
        if len(told) < TOLD_ITEMS:
            return ended
        after = told[-1].id


async def _end_attempts(context: EngineContext, over: Mapping[int, ToldItem]) -> int:
    if not over:
        return 0
    async with context.transaction() as tx:
        executions, now = await live_items.lock_executions(tx, [one.execution_id for one in over.values()])
        if now is None:
            return 0
        items = [
            item
            for item in await live_items.lock_items(tx, sorted(over))
            if item.state == "leased" and item.lease_token == over[item.id].token
        ]
        journal = Journal(now)
        given_up = [EndedAttempt(item, _overspent(over[item.id]), "overspent") for item in items]
        ended = await with_recorded_results(tx, given_up)
        await settle(tx, context, journal, executions, ended)
    announce(context.notifier, journal)
    return len(items)


def _is_over(plan: Plan, item: ToldItem) -> bool:
    budget = plan.steps[item.step].budget
    if budget is None:
        return False
    ledger = read_ledger(item.ledger, 0.0)
    over_cost = (
        budget.cost_usd is not None
        and round(ledger.cost + (item.cost_usd or 0.0) - budget.cost_usd, PLACES) > 0
    )
    return over_cost or (budget.tokens is not None and ledger.tokens + (item.tokens or 0) > budget.tokens)


def _overspent(item: ToldItem) -> Outcome:
    message = "the attempt has spent the budget of its item, and was ended"
    facts = Facts(failure_class="budget", reason="budget_exceeded", message=message)
    return Outcome("failed", facts=facts, usage=Usage(item.cost_usd, item.tokens))


async def end_overspent_tree(context: EngineContext, tree: OverspentTree) -> int:
    """Fails an execution whose tree has spent more than its budget, and cancels all of its work that has not ended. Attempts that have
    committed their results are settled first."""
    try:
        return await _end_tree(context, tree)
    except ResultsRecorded as recorded:
        return await settle_recorded(context, recorded.found)


async def _end_tree(context: EngineContext, tree: OverspentTree) -> int:
    async with context.transaction() as tx:
        executions, now = await live_items.lock_executions(tx, [tree.execution_id])
        if now is None or not executions[tree.execution_id].open or executions[tree.execution_id].failing:
            return 0
        row, journal = executions[tree.execution_id], Journal(now)
        plan = (await context.plans.load(tx, [row.plan_id])).get(row.plan_id)
        journal.cancels += await live_items.find_awaited_children(tx, row.id)
        await cancel_items(tx, journal, [row.id], running_too=True)
        failure = {"class": "budget", "reason": "budget_exceeded", "message": _words(tree)}
        if tree.exceeded_at is None:
            journal.log(row.id, event(BudgetExceeded, data=_exceeded(tree)))
            await budgets.note_exceeded(tx, [row.id], now)
        fail_execution(journal, row, plan, failure)
        await write(tx, context, journal)
    announce(context.notifier, journal)
    return 1


def _words(tree: OverspentTree) -> str:
    parts = []
    if tree.cost_usd is not None:
        parts.append(f"{tree.spent_usd + tree.running_usd:g} of {tree.cost_usd:g} USD")
    if tree.tokens is not None:
        parts.append(f"{tree.spent_tokens + tree.running_tokens} of {tree.tokens} tokens")
    return f"its tree has used {' and '.join(parts)}"


def _exceeded(tree: OverspentTree) -> BudgetExceededData:
    return BudgetExceededData(
        tree=tree.execution_id,
        cost_usd=UNSET if tree.cost_usd is None else tree.cost_usd,
        spent_usd=round(tree.spent_usd + tree.running_usd, PLACES),
        tokens=UNSET if tree.tokens is None else tree.tokens,
        spent_tokens=tree.spent_tokens + tree.running_tokens,
    )
