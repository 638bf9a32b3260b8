"""Budgets of items and of trees: what is charged, what is reserved, who waits, and what is ended."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.hand import Hand

from tenax.engine.recover import overspending
from tenax.model.attempt.outcome import Facts, Outcome, Usage
from tenax.model.wire import HeldUsage

ITEM = """
name: item
workflow:
  - step: a
    type: agent
    prompt: x
    command: "true"
    budget: {cost_usd: 1.0}
    retry: {max_attempts: 9, initial_delay: 1, backoff: fixed, jitter: 0}
"""
FAN = """
name: fan
budget: {cost_usd: 4}
workflow:
  - step: a
    type: agent
    prompt: x
    command: "true"
    for_each: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    parallelism: 10
    tolerate: 10
    retry: {attempt_cost: 1.0, max_attempts: 2, initial_delay: 1, backoff: fixed, jitter: 0}
"""
ONE = """
name: one
budget: {cost_usd: 1}
workflow:
  - {step: a, type: python, task: t, retry: {max_attempts: 9, initial_delay: 1, backoff: fixed, jitter: 0}}
  - {step: b, type: python, task: t, needs: a}
"""


def spent(
    status: str = "succeeded", cost: float | None = None, tokens: int | None = None, **facts: Any
) -> Outcome:
    told = facts or {"exit_code": 7}
    return Outcome(status, facts=Facts(**told) if status == "failed" else None, usage=Usage(cost, tokens))  # type: ignore[arg-type]


async def budget_of(hand: Hand, execution_id: int) -> Any:
    [row] = await hand.sql("select * from tenax.budget where execution_id = $1", execution_id)
    return row


async def lawful(hand: Hand) -> None:
    found = await hand.engine.verify()
    assert [f"{one.law}: {one.message}" for one in found.violations] == []


# -- of an item


async def test_an_item_that_has_spent_its_budget_is_not_tried_again(hand: Hand) -> None:
    execution, first = await hand.start(ITEM)
    await hand.report(first, spent("failed", 0.5))
    await hand.wait(1)
    await hand.report(await hand.lease_one(), spent("failed", 0.5))
    [ended] = await hand.data_of(execution, "step_failed_terminal")
    assert ended["decision"]["rule"] == "budget"
    assert "1 of 1 USD spent" in ended["reason"]
    await lawful(hand)


async def test_two_attempts_are_paid_and_a_third_is_never_started(hand: Hand) -> None:
    source = ITEM.replace("max_attempts: 9", "max_attempts: 9, attempt_cost: 0.45")
    execution, first = await hand.start(source)
    await hand.report(first, spent("failed"))
    await hand.wait(1)
    await hand.report(await hand.lease_one(), spent("failed"))
    await hand.wait(10)
    assert await hand.lease() == []
    assert await hand.counts(execution, "action_started") == (2,)


async def test_a_tenth_of_a_dollar_can_be_spent_ten_times(hand: Hand) -> None:
    source = ITEM.replace("max_attempts: 9", "max_attempts: 20, attempt_cost: 0.1")
    execution, attempt = await hand.start(source)
    for _ in range(9):
        await hand.report(attempt, spent("failed", 0.1))
        await hand.wait(1)
        attempt = await hand.lease_one()
    await hand.report(attempt, spent("failed", 0.1))
    assert await hand.counts(execution, "action_started") == (10,)


async def test_completed_but_over_budget_is_a_success_with_an_event(hand: Hand) -> None:
    execution, first = await hand.start(ITEM)
    await hand.report(first, spent(cost=1.5))
    assert await hand.status(execution) == "completed"
    [over] = await hand.data_of(execution, "budget_exceeded")
    assert (over["cost_usd"], over["spent_usd"]) == (1.0, 1.5)
    await lawful(hand)


async def test_tokens_are_limited_too(hand: Hand) -> None:
    execution, first = await hand.start(ITEM.replace("cost_usd: 1.0", "tokens: 100"))
    await hand.report(first, spent("failed", tokens=100))
    assert await hand.status(execution) == "failed"


async def test_a_reset_does_not_clear_what_was_spent(hand: Hand) -> None:
    execution, first = await hand.start(ITEM)
    await hand.report(first, spent("failed", 0.9))
    await hand.act(execution, "reset", reason="again")
    await hand.wait(1)
    await hand.report(await hand.lease_one(), spent("failed", 0.1))
    [ended] = await hand.data_of(execution, "step_failed_terminal")
    assert ended["decision"]["rule"] == "budget"
    await lawful(hand)


async def test_a_silent_death_is_charged_the_price_of_an_attempt(hand: Hand) -> None:
    execution, _ = await hand.start(ITEM.replace("max_attempts: 9", "max_attempts: 9, attempt_cost: 0.6"))
    await hand.wait(40)
    [ended] = await hand.data_of(execution, "step_failed_terminal")
    assert ended["decision"]["after"]["cost"] == 0.6
    assert ended["decision"]["rule"] == "budget"


async def test_a_death_after_words_is_charged_what_it_told(hand: Hand) -> None:
    execution, first = await hand.start(ITEM.replace("max_attempts: 9", "max_attempts: 9, attempt_cost: 0.3"))
    for cost in (0.05, 0.1):
        await hand.beat(first, usage=(HeldUsage(first.item_id, first.token, cost, 7),))
    await hand.wait(40)
    [lost] = await hand.data_of(execution, "lease_expired")
    assert lost["usage"] == {"cost_usd": 0.1, "tokens": 7}
    [retry] = await hand.data_of(execution, "step_retry")
    assert retry["decision"]["after"]["cost"] == 0.1
    await lawful(hand)


async def test_a_running_attempt_that_has_spent_the_budget_is_ended(hand: Hand) -> None:
    execution, first = await hand.start(ITEM)
    await hand.beat(first, usage=(HeldUsage(first.item_id, first.token, 1.2),))
    await hand.settle_down()
    [error] = await hand.data_of(execution, "action_error")
    assert (error["failure"]["class"], error["usage"]["cost_usd"]) == ("budget", 1.2)
    assert await hand.status(execution) == "failed"
    assert (await hand.report(first, spent(cost=2.0))).status == "late"
    await lawful(hand)


async def test_every_running_attempt_is_looked_at(hand: Hand, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read in pages, and those of the first page may stay for long."""
    monkeypatch.setattr(overspending, "TOLD_ITEMS", 1)
    parallel = ITEM.replace('command: "true"', 'command: "true"\n    for_each: [0, 1, 2]\n    parallelism: 3')
    execution = await hand.submit(parallel)
    await hand.settle_down()
    leased = sorted(await hand.lease(slots=3), key=lambda one: one.item_id)
    for one, cost in zip(leased, (0.1, 0.1, 1.2), strict=True):
        await hand.beat(one, usage=(HeldUsage(one.item_id, one.token, cost),))
    await hand.settle_down()
    [error] = await hand.data_of(execution, "action_error")
    assert error["usage"]["cost_usd"] == 1.2


async def test_usage_under_another_token_is_not_believed(hand: Hand) -> None:
    execution, first = await hand.start(ITEM)
    other = "00000000-0000-0000-0000-000000000001"
    await hand.beat(first, usage=(HeldUsage(first.item_id, other, 9.0),))
    await hand.settle_down()
    assert await hand.status(execution) == "running"


# -- of a tree


async def test_ten_in_parallel_never_spend_more_than_four(hand: Hand) -> None:
    execution = await hand.submit(FAN)
    await hand.settle_down()
    leased = await hand.lease(slots=20)
    assert len(leased) == 4
    assert await hand.counts(execution, "item_held") == (6,)
    for one in leased:
        await hand.report(one, spent(cost=1.0))
    await hand.settle_down()
    assert await hand.lease() == []
    assert await hand.counts(execution, "item_completed", "item_failed") == (4, 6)
    assert (await budget_of(hand, execution))["spent_usd"] == 4.0
    failed = await hand.data_of(execution, "item_failed")
    assert {one["failure"]["class"] for one in failed} == {"budget"}
    await lawful(hand)


async def test_what_is_given_back_pays_for_those_that_wait(hand: Hand) -> None:
    execution = await hand.submit(FAN)
    await hand.settle_down()
    started = 0
    while leased := await hand.lease(slots=20):
        started += len(leased)
        for one in leased:
            await hand.report(one, spent(cost=0.4))
        await hand.settle_down()
    assert started == 8  # 7 x 0.4 leave 1.2: one more is paid, and two would not be
    row = await budget_of(hand, execution)
    assert row["spent_usd"] == pytest.approx(3.2)
    await lawful(hand)


async def test_a_retry_waits_for_money_that_is_reserved_for_others(hand: Hand) -> None:
    source = FAN.replace("cost_usd: 4", "cost_usd: 2").replace(", 2, 3, 4, 5, 6, 7, 8, 9]", "]")
    execution = await hand.submit(source)
    await hand.settle_down()
    first, second = await hand.lease()
    await hand.report(first, spent("failed", 0.5))
    [held] = await hand.data_of(execution, "retry_held")
    assert held["decision"]["rule"] == "budget"
    await hand.report(second, spent(cost=0.3))
    await hand.settle_down()
    assert await hand.counts(execution, "retry_released", "step_retry") == (1, 1)
    await lawful(hand)
    await hand.wait(1)
    await hand.report(await hand.lease_one(), spent(cost=1.0))
    assert await hand.status(execution) == "completed"
    assert (await budget_of(hand, execution))["spent_usd"] == 1.8
    await lawful(hand)


async def test_a_tree_over_its_budget_is_ended(hand: Hand) -> None:
    execution = await hand.submit(FAN.replace("attempt_cost: 1.0, ", ""))
    await hand.settle_down()
    leased = await hand.lease(slots=20)
    assert len(leased) == 10  # nothing is known of what an attempt costs
    await hand.report(leased[0], spent(cost=5.0))
    await hand.settle_down()
    assert await hand.status(execution) == "failed"
    shown = await hand.get(execution)
    assert (shown["failure"]["class"], shown["failure"]["reason"]) == ("budget", "budget_exceeded")
    assert await hand.counts(execution, "budget_exceeded", "item_cancelled") == (1, 9)
    await lawful(hand)


async def test_running_attempts_can_bring_the_tree_over_its_budget(hand: Hand) -> None:
    execution = await hand.submit(FAN)
    await hand.settle_down()
    leased = await hand.lease(slots=20)
    await hand.beat(*leased, usage=tuple(HeldUsage(one.item_id, one.token, 1.5) for one in leased))
    await hand.settle_down()
    assert await hand.status(execution) == "failed"
    row = await budget_of(hand, execution)
    assert row["spent_usd"] == 6.0  # each is charged what it had told
    assert await hand.counts(execution, "attempt_charged") == (4,)
    await lawful(hand)


async def test_completed_over_the_budget_of_the_tree_is_a_success(hand: Hand) -> None:
    execution = await hand.submit(ONE)
    await hand.settle_down()
    await hand.report(await hand.lease_one(), spent(cost=0.2))
    await hand.settle_down()
    await hand.report(await hand.lease_one(), spent(cost=3.0))
    await hand.settle_down()
    assert await hand.status(execution) == "completed"
    [over] = await hand.data_of(execution, "budget_exceeded")
    assert (over["tree"], over["spent_usd"]) == (execution, 3.2)
    await lawful(hand)


async def test_a_late_or_repeated_report_is_not_charged_again(hand: Hand) -> None:
    execution = await hand.submit(ONE)
    await hand.settle_down()
    first = await hand.lease_one()
    await hand.report(first, spent("failed", 0.2))
    await hand.report(first, spent("failed", 0.2))
    await hand.report(first, spent(cost=0.7))
    assert (await budget_of(hand, execution))["spent_usd"] == 0.2
    await lawful(hand)


async def test_a_cancelled_execution_charges_what_its_attempts_had_told(hand: Hand) -> None:
    execution = await hand.submit(ONE.replace("max_attempts: 9", "max_attempts: 9, attempt_cost: 0.4"))
    await hand.settle_down()
    await hand.lease_one()
    await hand.engine.cancel(execution, actor="ann")
    assert (await budget_of(hand, execution))["spent_usd"] == 0.4
    assert await hand.sql("select * from tenax.reservation") == []
    await lawful(hand)


async def test_a_handed_back_attempt_is_charged_and_runs_again(hand: Hand) -> None:
    execution = await hand.submit(ONE)
    await hand.settle_down()
    first = await hand.lease_one()
    await hand.beat(first, usage=(HeldUsage(first.item_id, first.token, 0.1, 5),))
    await hand.hand_back(first)
    await hand.report(await hand.lease_one(), spent(cost=0.2))
    assert (await budget_of(hand, execution))["spent_usd"] == pytest.approx(0.3)
    await lawful(hand)


async def test_an_attempt_that_was_handed_back_unheard_costs_nothing(hand: Hand) -> None:
    execution = await hand.submit(ONE.replace("max_attempts: 9", "max_attempts: 9, attempt_cost: 0.4"))
    await hand.settle_down()
    await hand.hand_back(await hand.lease_one())
    assert (await budget_of(hand, execution))["spent_usd"] == 0
    await hand.report(await hand.lease_one(), spent(cost=0.2))
    await lawful(hand)


async def test_a_paused_tree_admits_nothing_and_goes_on_when_it_is_resumed(hand: Hand) -> None:
    execution = await hand.submit(ONE)
    await hand.engine.pause(execution, actor="ann")
    await hand.settle_down()
    assert await hand.lease() == []
    await hand.engine.resume(execution, actor="ann")
    await hand.settle_down()
    await hand.report(await hand.lease_one(), spent(cost=0.2))
    await lawful(hand)


async def test_a_failed_step_that_is_retried_by_an_operator_needs_the_budget_again(hand: Hand) -> None:
    execution = await hand.submit(ONE)
    await hand.settle_down()
    await hand.report(await hand.lease_one(), spent("failed", 0.6, fatal=True))
    assert await hand.status(execution) == "failed"
    await hand.retry(execution)
    await hand.settle_down()
    await hand.report(await hand.lease_one(), spent("failed", 0.4, fatal=True))
    await hand.retry(execution)
    await hand.settle_down()
    assert await hand.lease() == []
    assert (await hand.get(execution))["failure"]["class"] == "budget"
    await lawful(hand)


async def test_no_statement_is_sent_for_others(hand: Hand) -> None:
    execution, first = await hand.start()
    await hand.succeed(first)
    assert await hand.sql("select * from tenax.budget") == []
    assert await hand.status(execution) == "completed"


async def test_two_servers_reserve_no_more_than_there_is(hand: Hand) -> None:
    await hand.submit(FAN)
    other = await hand.restarted()
    await asyncio.gather(*(one.engine.budget_keeper.keep() for one in (hand, other, hand, other)))
    await hand.settle_down()
    assert len(await hand.lease(slots=20)) == 4


# -- over several levels

LEAF = "name: leaf\nworkflow: [{step: a, type: python, task: t, retry: {max_attempts: 3, initial_delay: 1, jitter: 0}}]\n"
MIDDLE = """
name: middle
workflow:
  - {step: own, type: python, task: t}
  - {step: leaves, type: workflow, file: leaf.yaml, for_each: [0, 1], parallelism: 2}
"""
ROOT = """
name: root
budget: {cost_usd: 100, tokens: 1000}
workflow:
  - {step: own, type: python, task: t}
  - {step: middles, type: workflow, file: middle.yaml, for_each: [0, 1], parallelism: 2}
"""
LEVELS = {"middle.yaml": MIDDLE, "leaf.yaml": LEAF}


async def test_sums_over_three_levels_are_those_of_all_attempts(hand: Hand) -> None:
    execution = await hand.submit(ROOT, files=LEVELS)
    used, number = 0.0, 0
    await hand.settle_down()
    while leased := await hand.lease(slots=20):
        for one in leased:
            number += 1
            used += number / 8
            fails = one.workflow == "leaf" and one.attempt == 1
            await hand.report(one, spent("failed" if fails else "succeeded", number / 8, number))
        await hand.wait(1)
    assert await hand.status(execution) == "completed"
    row = await budget_of(hand, execution)
    assert (row["spent_usd"], row["spent_tokens"]) == (used, number * (number + 1) // 2)
    assert number == 11  # 1 of the root, 2 x 1 of the middle, 4 x 2 of the leaves
    await lawful(hand)


async def test_children_cannot_overdraw_the_budget_of_their_parent_together(hand: Hand) -> None:
    root = ROOT.replace("cost_usd: 100, tokens: 1000", "cost_usd: 2").replace(
        "{step: own, type: python, task: t}", ""
    )
    root = root.replace("  - \n", "")
    leaf = LEAF.replace("max_attempts: 3", "max_attempts: 3, attempt_cost: 1")
    middle = MIDDLE.replace("  - {step: own, type: python, task: t}\n", "")
    await hand.submit(root, files={"middle.yaml": middle, "leaf.yaml": leaf})
    await hand.settle_down()
    leased = await hand.lease(slots=20)
    assert len(leased) == 2
    await hand.succeed(leased[0])
    await hand.succeed(leased[1])
    await hand.settle_down()
    assert await hand.lease() == []
    await lawful(hand)


async def test_the_budget_of_a_workflow_step_is_that_of_its_children_over_all_attempts(hand: Hand) -> None:
    source = """
name: parent
workflow:
  - step: call
    type: workflow
    file: leaf.yaml
    budget: {cost_usd: 1}
    retry: {max_attempts: 9, initial_delay: 1, jitter: 0, retry_on: [child_failed]}
"""
    leaf = LEAF.replace("max_attempts: 3", "max_attempts: 1")
    execution = await hand.submit(source, files={"leaf.yaml": leaf})
    for cost in (0.6, 0.4):
        await hand.settle_down()
        await hand.report(await hand.lease_one(), spent("failed", cost, fatal=True))
        await hand.settle_down()
        await hand.wait(1)
    [ended] = await hand.data_of(execution, "step_failed_terminal")
    assert ended["decision"]["rule"] == "budget"
    assert ended["decision"]["after"]["cost"] == 1.0
    await lawful(hand)


async def test_a_tree_over_its_budget_ends_its_children(hand: Hand) -> None:
    root = ROOT.replace("cost_usd: 100", "cost_usd: 1").replace("- {step: own, type: python, task: t}\n", "")
    root = root.replace("workflow:\n    - ", "workflow:\n  - ")
    middle = MIDDLE.replace("  - {step: own, type: python, task: t}\n", "")
    execution = await hand.submit(root, files={"middle.yaml": middle, "leaf.yaml": LEAF})
    await hand.settle_down()
    leased = await hand.lease(slots=20)
    assert len(leased) == 4
    await hand.report(leased[0], spent(cost=3.0))
    await hand.settle_down()
    assert await hand.status(execution) == "failed"
    states = [
        row["state"] for row in await hand.sql("select state from tenax.execution where finished_at is null")
    ]
    assert states == []
    await lawful(hand)


async def test_show_has_the_budget_of_the_tree(hand: Hand) -> None:
    execution = await hand.submit(FAN)
    await hand.settle_down()
    leased = await hand.lease(slots=20)
    await hand.report(leased[0], spent(cost=0.5))
    [shown] = (await hand.get(execution))["budgets"]
    assert {name: shown[name] for name in ("tree", "cost_usd", "spent_usd", "reserved_usd", "left_usd", "in_flight")} == {
        "tree": execution, "cost_usd": 4.0, "spent_usd": 0.5, "reserved_usd": 3.0, "left_usd": 0.5, "in_flight": 3,
    }  # fmt: skip
    other, _ = await hand.start(worker="w2")
    assert (await hand.get(other))["budgets"] == []
