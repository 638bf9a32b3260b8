"""The queries of Attune's document run as they are printed, and their figures are those of the events."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from support.hand import ONE_STEP, Hand
from support.statements import attune_queries as attune

WORDS = {"transient": "transient_error", "worker_lost": "worker_heartbeat_stale"}
FAN_OUT = """
name: many
workflow:
  - step: each
    type: python
    task: some:task
    for_each: [a, b, c]
    parallelism: 3
    timeout: 20s
    retry: {max_attempts: 2, initial_delay: 1, jitter: 0}
"""


@dataclass(frozen=True)
class Attempt:
    """An attempt as the events tell of it."""

    id: int
    first: int
    number: int
    reason: str | None
    status: str


async def live(hand: Hand) -> None:
    """Makes executions that are retried for several reasons, and in several ways."""
    await hand.register("w1", slots=10)
    _, attempt = await hand.start()
    await hand.fail(attempt)
    await hand.wait(1)
    await hand.fail(await hand.lease_one())
    await hand.wait(2)
    await hand.succeed(await hand.lease_one())
    # A worker is lost.
    await hand.start()
    await hand.wait(hand.engine.context.settings.lease + 1)
    await hand.wait(10)
    await hand.succeed(await hand.lease_one("w2"))
    # A person does not wait.
    by_hand, attempt = await hand.start()
    await hand.fail(attempt)
    await hand.retry(by_hand)
    await hand.succeed(await hand.lease_one())
    # The attempts of an item are used up.
    await hand.submit(FAN_OUT)
    for _ in range(2):
        for each in await hand.lease():
            if each.item == 1:
                await hand.fail(each)
            else:
                await hand.succeed(each)
        await hand.wait(1)
    # One is running.
    await hand.start()


async def attempts_of(hand: Hand) -> list[Attempt]:
    """Reads all attempts from the events, in the order of the ids."""
    found: list[Attempt] = []
    for row in await hand.sql("select id from tenax.execution order by id"):
        lines: dict[tuple[str, int | None], list[dict[str, Any]]] = {}
        for event in await hand.events(row["id"]):
            if event["step"] is not None:
                lines.setdefault((event["step"], event["item"]), []).append(event)
        for line in lines.values():
            if any(event["type"] == "action_started" for event in line):
                found += _attempts(line)
    return sorted(found, key=lambda one: one.id)


def _attempts(line: list[dict[str, Any]]) -> list[Attempt]:
    starts = [n for n, event in enumerate(line) if event["type"] == "action_started"]
    found: list[Attempt] = []
    reason = None
    for start, end in zip(starts, [*starts[1:], len(line)], strict=True):
        events = line[start:end]
        types = {event["type"] for event in events}
        failed = next(
            (e["data"]["failure"]["class"] for e in events if e["type"] in ("action_error", "lease_expired")),
            None,
        )
        status = "completed" if "action_completed" in types else "running" if failed is None else "failed"
        found.append(Attempt(events[0]["id"], line[starts[0]]["id"], events[0]["attempt"], reason, status))
        reason = "manual_retry" if "retry_rescheduled" in types else WORDS.get(failed or "")
    return found


@pytest.mark.parametrize("query", attune.ALL)
async def test_every_printed_query_runs_as_it_is_printed(hand, any_database_url, query):
    await live(hand)
    assert isinstance(await attune.answer(any_database_url, query), list)


async def test_the_success_rate_by_reason_is_that_of_the_events(hand, any_database_url):
    await live(hand)
    retries = [one for one in await attempts_of(hand) if one.number > 1]
    total = Counter(one.reason for one in retries)
    succeeded = Counter(one.reason for one in retries if one.status == "completed")
    rows = await attune.answer(any_database_url, attune.SUCCESS_RATE)
    assert {(row["reason"], row["total_retries"], row["succeeded"]) for row in rows} == {
        (reason, n, succeeded[reason]) for reason, n in total.items()
    }
    assert set(total) == {"transient_error", "worker_heartbeat_stale", "manual_retry"}
    rates = {row["reason"]: row["success_rate"] for row in rows}
    assert rates["transient_error"] == Decimal("33.33")  # of two of the first execution, and one of an item


async def test_the_retry_rate_of_the_last_hour_is_that_of_the_events(hand, any_database_url):
    await live(hand)
    numbers = [one.number for one in await attempts_of(hand)]
    retries = sum(number > 1 for number in numbers)
    [row] = await attune.answer(any_database_url, attune.RETRY_RATE)
    assert row["original_executions"] == len(numbers) - retries == 7
    assert row["retry_executions"] == retries == 5
    assert row["retry_rate"] == Decimal("71.43")


async def test_a_retry_chain_begins_with_the_first_attempt_and_ends(hand, any_database_url):
    await live(hand)
    attempts = await attempts_of(hand)
    for first in {one.first for one in attempts}:
        chain = [one for one in attempts if one.first == first]
        rows = await attune.answer(
            any_database_url, attune.RETRY_CHAIN, printed="id = 100", own=f"id = {first}"
        )
        assert [tuple(row.values()) for row in rows] == [
            (one.id, one.number - 1, one.reason, first if one.number > 1 else None, one.status)
            for one in chain
        ]


async def test_the_config_of_an_execution_says_why_it_was_tried_again(hand, any_database_url):
    await live(hand)
    first, second, third = (await attempts_of(hand))[:3]
    [row] = await attune.answer(any_database_url, attune.CONFIG, printed="123", own=third.id)
    assert json.loads(row["config"]) == {
        "retry_count": 2, "max_retries": 2, "retry_reason": "transient_error", "original_execution": first.id,
        "retry_of": second.id,
    }  # fmt: skip


async def test_an_attempt_is_retriable_if_it_failed_and_its_numbers_allow_another(hand, any_database_url):
    await live(hand)
    found = [
        (await attune.answer(any_database_url, attune.IS_RETRIABLE, printed="123", own=one.id))[0]
        for one in await attempts_of(hand)
    ]
    told = [row["is_execution_retriable"] for row in found]
    # fails, fails, succeeds; is lost, succeeds; fails, succeeds; three items, of which the second fails twice; runs
    assert told == [True, True, False, True, False, True, False, False, True, False, False, False]
    [nobody] = await attune.answer(any_database_url, attune.IS_RETRIABLE)
    assert nobody["is_execution_retriable"] is False


async def test_workers_have_numbers_and_the_servers_verdict(hand, any_database_url):
    await live(hand)
    await hand.register("w2", slots=10)
    await hand.beat(worker="w1")
    await hand.look()
    rows = {row["name"]: row for row in await attune.answer(any_database_url, attune.WORKERS_BY_HEALTH)}
    seen = {one.name: one for one in await hand.engine.workers()}
    assert set(rows) == {name for name, one in seen.items() if one.state == "active"} == {"w1", "w2"}
    for name, row in rows.items():
        assert (row["health"], row["queue"]) == (seen[name].health, seen[name].queue_depth)
    numbers = {row["name"]: row["id"] for row in await hand.sql("select id, name from ops.worker")}
    [one] = await attune.answer(
        any_database_url, attune.WORKER_HEALTH, printed="id = 1", own=f"id = {numbers['w1']}"
    )
    assert (one["name"], one["health_status"], one["queue_depth"]) == ("w1", "healthy", "1")
    [depth] = await attune.answer(
        any_database_url, attune.QUEUE_DEPTH, printed="(1)", own=f"({numbers['w1']})"
    )
    assert depth["get_worker_queue_depth"] == 1
    healthy = {row["name"] for row in await attune.answer(any_database_url, attune.HEALTHY_WORKERS)}
    assert healthy == {"w1", "w2"}
    [spread] = await attune.answer(any_database_url, attune.HEALTH_DISTRIBUTION)
    assert (spread["health_status"], spread["worker_count"], spread["avg_queue_depth"]) == (
        "healthy",
        2,
        Decimal("0.5"),
    )


async def test_an_unhealthy_worker_is_not_among_the_healthy_ones(hand, any_database_url):
    await live(hand)
    await hand.register("w2", slots=10)
    await hand.pass_time(60)
    await hand.beat(worker="w1")
    await hand.look()
    assert [row["name"] for row in await attune.answer(any_database_url, attune.HEALTHY_WORKERS)] == ["w1"]
    spread = {
        row["health_status"]: row["worker_count"]
        for row in await attune.answer(any_database_url, attune.HEALTH_DISTRIBUTION)
    }
    assert spread == {"healthy": 1, "unhealthy": 1}


async def test_an_action_is_a_step_of_a_stored_workflow(hand, any_database_url):
    await live(hand)
    await hand.engine.store_workflow(FAN_OUT)
    [row] = await attune.answer(any_database_url, attune.ACTION, printed="action.name", own="many.each")
    assert row == {"timeout_seconds": 20, "max_retries": 1}
    assert await attune.answer(any_database_url, attune.ACTION, printed="action.name", own="one.only") == []
    await hand.engine.store_workflow(ONE_STEP.replace("max_attempts: 3", "max_attempts: unlimited"))
    [row] = await attune.answer(any_database_url, attune.ACTION, printed="action.name", own="one.only")
    assert row == {"timeout_seconds": 300, "max_retries": None}
