"""Tests `tenax verify`: true histories break no law at any moment, and each change by hand is found under its law."""

from __future__ import annotations

import tracemalloc
from datetime import timedelta
from typing import Any

import pytest
from support.hand import Hand, one_postgres
from support.laws import laws_broken, verify
from support.strategies.random_runs import CHILD, PARENT, Night, begin_to_undo

from tenax.engine.views import verify as verifying
from tenax.errors import NotFound
from tenax.model.decision import DECIDER_VERSION
from tenax.store.tables import history as store

FAN_OUT = """
name: fan-out
input: {rows: {}}
workflow:
  - {step: first, type: python, task: "t:t"}
  - {step: each, type: python, task: "t:t", needs: [first], for_each: "{{ input.rows }}", parallelism: 1000000,
     tolerate: 1, retry: {max_attempts: 2, initial_delay: 5, jitter: 0}}
"""
MEMORY = 8 * 2**20
"""Bytes that the check of 20,000 items may take at most. Their events alone are several times as much."""


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.settings(callback_url="http://tenax.test")
async def test_a_random_night_breaks_no_law_at_any_moment(hand, seed):
    await hand.engine.store_workflow(CHILD)
    await begin_to_undo(hand, 3)
    night = Night(hand, seed)
    for _ in range(3):
        await hand.submit(PARENT)
    for _ in range(12):
        await night.play(10)
        assert (await verify(night.hand))["violations"] == []
    await night.dawn()
    report = await verify(night.hand)
    assert report["violations"] == []
    assert report["decisions"] > 10
    assert report["events"] > 100


async def some_history(hand: Hand) -> dict[str, int]:
    """One execution that was retried and completed, one that waits for its retry, one that runs, and fan-outs."""
    done, waiting = await hand.submit(), await hand.submit()
    for a in await hand.lease():
        await hand.fail(a)
    await hand.engine.pause(waiting, actor="test")
    await hand.pass_time(1)
    await hand.succeed(await hand.lease_one(), {"n": 1})
    fans = [await hand.submit(FAN_OUT, input={"rows": [1, 2, 3]}) for _ in range(2)]
    for a in await hand.lease():
        if a.execution_id in fans:
            await hand.succeed(a, "first")
    for a in await hand.lease():
        if a.execution_id == fans[0] and a.item == 0:
            await hand.fail(a, status_code=404)
        elif a.execution_id == fans[0] or a.item == 0:
            await hand.succeed(a, a.item)
    await hand.engine.resume(waiting, actor="test")
    return {"done": done, "waiting": waiting, "fan_out": fans[0], "open_fan_out": fans[1]}


CHANGES: list[tuple[str, str, str]] = [
    ("execution-row", "done", "update tenax.execution set result = '{\"only\": {\"n\": 2}}' where id = $1"),
    ("execution-row", "done", "update tenax.execution set finished_at = finished_at + interval '1 second' where id = $1"),
    ("execution-row", "done", "update tenax.execution set state = 'failed' where id = $1"),
    ("execution-row", "fan_out", "update tenax.execution set result = '{\"each\": [1]}' where id = $1"),
    ("step-row", "fan_out", "update tenax.step set attempts = 9 where execution_id = $1 and step = 'first'"),
    ("step-row", "fan_out", "update tenax.step set result = '\"other\"' where execution_id = $1 and step = 'first'"),
    ("step-row", "fan_out", "update tenax.step set result = '[0, 1, 2]' where execution_id = $1 and step = 'each'"),
    ("step-row", "fan_out", "delete from tenax.step where execution_id = $1 and step = 'first'"),
    ("fan-out-row", "open_fan_out", "update tenax.fan set ended = ended + 1 where execution_id = $1"),
    ("fan-out-row", "open_fan_out", "delete from tenax.fan where execution_id = $1"),
    ("fan-out-row", "open_fan_out", "delete from tenax.item where execution_id = $1 and item_no = 1"),
    ("item-result-row", "fan_out", "update tenax.item_result set result = '7' where execution_id = $1 and item_no = 2"),
    ("item-result-row", "fan_out", "delete from tenax.item_result where execution_id = $1 and item_no = 2"),
    ("item-row", "waiting", "update tenax.item set attempt = 0 where execution_id = $1"),
    ("item-row", "waiting", "update tenax.item set ledger = jsonb_set(ledger, '{counted}', '0') where execution_id = $1"),
    ("item-row", "waiting", "update tenax.item set available_at = available_at + interval '1 hour' where execution_id = $1"),
    ("item-row", "waiting", "update tenax.item set state = 'queued' where execution_id = $1"),
    ("item-row", "waiting", "delete from tenax.item where execution_id = $1"),
    ("unfinished-execution-goes-on", "waiting", "delete from tenax.item where execution_id = $1"),
    ("item-row", "open_fan_out", "update tenax.item set worker = 'w9' where execution_id = $1 and item_no = 1"),
    ("item-row", "open_fan_out", "delete from tenax.item where execution_id = $1 and item_no = 1"),
    ("rows-have-an-execution", "fan_out", "delete from tenax.execution where id = $1"),
    ("begins-once", "done", "delete from tenax.log where execution_id = $1"),
]  # fmt: skip


@one_postgres
@pytest.mark.parametrize(("law", "where", "statement"), CHANGES)
async def test_a_row_changed_by_hand_is_found(hand, law, where, statement):
    found = await some_history(hand)
    assert await laws_broken(hand) == set()
    await hand.sql(statement, found[where])
    report = await verify(hand)
    assert law in {violation["law"] for violation in report["violations"]}
    assert {violation["execution"] for violation in report["violations"]} == {found[where]}


WITHOUT = """
update tenax.log l
   set events = (select json_agg(e.event order by e.n)::text
                   from json_array_elements(l.events::json) with ordinality as e (event, n)
                  where e.event ->> 'type' <> $2)
 where l.execution_id = $1 and l.events like '%"type":"' || $2 || '"%' and json_array_length(l.events::json) > 1
"""
GONE = "delete from tenax.log where execution_id = $1 and events like '[{\"type\":\"' || $2 || '\"%' and json_array_length(events::json) = 1"
REMOVED = {
    "execution_started": "begins-once",
    "step_enqueued": "start-of-ready-work",
    "action_started": "end-follows-start",
    "action_error": "outcome-decided-at-once",
    "step_retry": "outcome-decided-at-once",
    "action_completed": "execution-row",
    "step_completed": "completed-when-all-ended",
    "execution_completed": "execution-row",
}


@one_postgres
@pytest.mark.parametrize("kind", REMOVED)
async def test_a_removed_event_is_found(hand, kind):
    found = await some_history(hand)
    await hand.sql(WITHOUT, found["done"], kind)
    await hand.sql(GONE, found["done"], kind)
    broken = await laws_broken(hand)
    assert REMOVED[kind] in broken, broken


REPLACED: list[Any] = [
    ("decision-replays", '"verdict":"retry"', '"verdict":"fail"'),
    ("decision-replays", '"delay":1.0', '"delay":1.5'),
    ("decision-replays", '"counted":1', '"counted":2'),
    ("verdict-obeyed", '"verdict":"retry"', '"verdict":"fail"'),
    ("attempt-number-used-once", '"type":"action_started","step":"only","attempt":2', '"type":"action_started","step":"only","attempt":1'),
    ("no-start-before-due", '"available_at":"20', '"available_at":"30'),
    ("retry-due-at-decision-time", '"delay_seconds":1.0', '"delay_seconds":3.0'),
    *(
        pytest.param("events-conform", before, after, marks=pytest.mark.odd_log)
        for before, after in [('"worker":"w1"', '"worker":1'), ('"last_error":', '"last_word":'), ('"action_error"', '"action_wrong"')]
    ),
]  # fmt: skip


@one_postgres
@pytest.mark.parametrize(("law", "before", "after"), REPLACED)
async def test_a_changed_decision_or_event_is_found(hand, law, before, after):
    found = await some_history(hand)
    changed = await hand.sql(
        "update tenax.log set events = replace(events, $2, $3) where execution_id = $1 and events like '%' || $2 || '%' returning id",
        found["done"], before, after,
    )  # fmt: skip
    assert changed
    report = await verify(hand)
    [first, *_] = [one for one in report["violations"] if one["law"] == law]
    assert first["execution"] == found["done"]
    assert first["step"] == "only"
    assert first["events"]


async def test_a_token_of_another_attempt_is_found(hand):
    found = await some_history(hand)
    tokens = await hand.sql(
        'select substring(events from \'"token":"([^"]+)"\') as token from tenax.log'
        " where execution_id = $1 and events like '%token%' order by id",
        found["done"],
    )
    first, second = (row["token"] for row in tokens)
    await hand.sql(
        "update tenax.log set events = replace(events, $2, $3) where execution_id = $1",
        found["done"], second, first,
    )  # fmt: skip
    assert await laws_broken(hand) == {"report-names-current-token"}


async def test_an_item_that_nothing_will_wake_is_found(hand):
    await hand.engine.store_workflow("name: child\nworkflow: [{step: a, type: python, task: 't:t'}]\n")
    parent = await hand.submit("name: p\nworkflow: [{step: call, type: workflow, workflow: child}]\n")
    await hand.settle_down()
    [row] = await hand.sql("select id from tenax.execution where parent_id = $1", parent)
    await hand.succeed(await hand.lease_one())
    assert await laws_broken(hand) == set()  # the end of the child is in the inbox
    await hand.sql("delete from tenax.inbox")
    [violation] = (await verify(hand))["violations"]
    assert violation["law"] == "unfinished-item-has-a-wake-up"
    assert f"child {row['id']}" in violation["message"]
    assert violation["execution"] == parent


async def test_decisions_of_another_version_are_counted_apart(hand):
    found = await some_history(hand)
    await hand.sql(
        "update tenax.log set events = replace(events, $2, '\"version\":2') where execution_id = $1",
        found["done"], f'"version":{DECIDER_VERSION}',
    )  # fmt: skip
    report = await verify(hand)
    assert report["violations"] == []
    assert report["other_versions"] == {"2": 2}


async def test_a_plan_that_cannot_be_read_is_a_violation(hand):
    await hand.submit()
    await hand.sql("update tenax.plan set policies = '{}'")
    assert await laws_broken(await hand.restarted()) == {"plan-is-readable"}


async def test_one_execution_or_those_open_since_a_time(hand):
    old = await hand.submit()
    await hand.succeed(await hand.lease_one())
    await hand.pass_time(100)
    still_open, new = await hand.submit(), await hand.submit()
    for a in await hand.lease():
        if a.execution_id == new:
            await hand.succeed(a)
    now = (await hand.sql("select tenax.now() as now"))[0]["now"]
    assert (await verify(hand))["executions"] == 3
    assert (await verify(hand, since=now - timedelta(seconds=50)))["executions"] == 2
    assert (await verify(hand, since=now + timedelta(seconds=50)))["executions"] == 1
    for id_ in (old, still_open, new):
        assert (await verify(hand, only=id_))["executions"] == 1
    with pytest.raises(NotFound, match="there is no execution 999"):
        await verify(hand, only=999)


async def test_pages_follow_each_other(hand, monkeypatch):
    for _ in range(7):
        await hand.submit()
    monkeypatch.setattr(verifying, "EXECUTIONS_AT_ONCE", 3)
    page = await hand.engine.verify()
    assert page.checked.executions == 3
    assert (await verify(hand))["executions"] == 7
    monkeypatch.setattr(verifying, "PAGE_SECONDS", -1.0)  # a page ends with the first of them
    assert (await hand.engine.verify()).checked.executions == 1
    assert (await verify(hand))["executions"] == 7


async def test_a_page_holds_only_as_much_as_fits_into_memory(hand, monkeypatch):
    monkeypatch.setattr(store, "LARGE", 100_000)
    for size in (60_000, 60_000, 10, 150_000, 10):
        _, assignment = await hand.start()
        await hand.succeed(assignment, "x" * size)
    pages, after = [], 0
    while True:
        async with hand.engine.context.view_snapshot() as tx:
            page = await store.find_page(tx, after, None, None, 200)
        pages.append((len(page.ids), page.rows_at_once, page.is_last))
        if page.is_last:
            break
        after = page.ids[-1]
    assert pages == [(1, 1, False), (2, 1, False), (1, 1, False), (1, 200, True)]
    assert (await verify(hand))["executions"] == 5
    assert await laws_broken(hand) == set()


async def test_it_writes_nothing_and_waits_for_nobody(hand):
    found = await some_history(hand)
    async with hand.engine.context.transaction() as tx:
        await tx.execute("select from tenax.execution where id = $1 for update", found["waiting"])
        await tx.execute("select from tenax.item for update")
        assert await laws_broken(hand) == set()


LIKE_THE_FIRST = (
    """insert into tenax.log (execution_id, at, events)
       select l.execution_id, l.at, replace(l.events, '"item":0,', '"item":' || n || ',')
         from tenax.log l, generate_series(1, $2::integer) as n
        where l.execution_id = $1::bigint and l.events like '%"item":0,%'
        order by n, l.id""",
    """insert into tenax.item_result (execution_id, step, item_no, state, attempts, result)
       select execution_id, step, n, state, attempts, result
         from tenax.item_result, generate_series(1, $2::integer) as n
        where execution_id = $1::bigint""",
    "delete from tenax.item where execution_id = $1::bigint and item_no <= $2::integer",
    "update tenax.fan set ended = 1 + $2::integer, attempts = 1 + $2::integer where execution_id = $1::bigint",
)
"""The items of a fan-out, up to this one, end as the first of them did."""


@one_postgres
async def test_memory_is_bounded_however_many_items_there_are(hand):
    count = 20_000
    execution_id = await hand.submit(FAN_OUT, input={"rows": [0] * count})
    await hand.succeed(await hand.lease_one())
    await hand.succeed(await hand.lease_one(slots=1), {"text": "x" * 200})
    for statement in LIKE_THE_FIRST:
        await hand.sql(statement, execution_id, count - 2)
    tracemalloc.start()
    try:
        report = await verify(hand)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert report["violations"] == []
    assert report["events"] > 2 * count
    assert peak < MEMORY


async def test_nothing_is_checked_where_there_is_nothing(hand):
    assert await verify(hand) == {
        "executions": 0, "events": 0, "decisions": 0, "violations": [], "other_versions": {}
    }  # fmt: skip


async def test_what_waits_has_a_while_longer_after_a_gap_in_service(hand):
    await hand.submit("name: w\nworkflow: [{step: ask, type: wait, signal: go, deadline: 30s}]\n")
    await hand.settle_down()
    before = await hand.sql("select expires_at from tenax.item")
    await hand.clock.advance(3600)
    await hand.engine.beat()
    assert await hand.sql("select expires_at from tenax.item") > before
    assert await laws_broken(hand) == set()
    await hand.sql("update tenax.item set expires_at = expires_at - interval '2 h'")
    assert await laws_broken(hand) == {"item-row"}
