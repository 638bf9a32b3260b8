"""The roll-ups equal the events: after random nights with late commits, in parts of any size, over kills and changes of the leader."""

from __future__ import annotations

import json
import random
from itertools import count

import asyncpg
import pytest
from support.hand import ONE_STEP
from support.slow_models.rolled_up import assert_equal_to_events, assert_view_equals_events
from support.strategies.random_runs import CHILD, PARENT, Night, begin_to_undo, without_undo

from tenax.engine.metrics import roll_up as rolling
from tenax.engine.metrics.roll_up import RollUp
from tenax.store.journal import EVENTS_PER_ROW
from tenax.store.metrics import log_cursor
from tenax.store.statements import sql
from tenax.store.transaction import transaction

MANY_ITEMS = """
name: many-items
input: {many: {type: array}}
workflow:
  - {step: each, type: python, task: "tests:any", for_each: "{{ input.many }}", parallelism: 1000}
"""


@pytest.mark.parametrize(("seed", "operators"), [(0, 0), (1, 0), (2, 6), (3, 12)])
@pytest.mark.settings(callback_url="http://tenax.test")
async def test_after_random_nights_the_counts_are_those_of_the_events(hand, seed, operators, monkeypatch):
    dice = random.Random(seed)
    night = Night(hand, seed, operators=operators)
    if operators:  # executions that have begun to undo are not opened again
        night.source = without_undo(PARENT)
    await hand.engine.store_workflow(without_undo(CHILD) if operators else CHILD)
    await begin_to_undo(hand, 3)
    for _ in range(3):
        await hand.submit(night.source)
    for _ in range(15):
        await night.play(25)
        # A new object is another leader: it knows nothing but what is in the database.
        leader = RollUp(night.hand.engine.context)
        for _ in range(dice.randint(0, 3)):
            leader._step = dice.choice([1, 3, 20, 5000])
            monkeypatch.setattr(rolling, "COUNTED_AT_ONCE", dice.choice([1, 10, 5000]))
            await leader._count_part()
    await RollUp(night.hand.engine.context).catch_up()
    found = await assert_equal_to_events(night.hand)
    assert found["attempts"].total() > 50
    assert found["reasons"].total() > 3
    assert found["retried"].total() > 3
    assert found["given_up"].total() > 3
    assert ("manual_retry" in found["reasons"]) == bool(operators)
    await assert_view_equals_events(night.hand)


async def test_a_retry_that_an_operator_hastens_has_waited_only_until_then(hand):
    execution_id, attempt = await hand.start(ONE_STEP.replace("initial_delay: 1,", "initial_delay: 60,"))
    await hand.fail(attempt)
    await hand.pass_time(2)
    await hand.retry(execution_id)
    await hand.fail(await hand.lease_one())
    await hand.act(execution_id, "reschedule", policy={"initial_delay": "5s", "backoff": "fixed"})
    await hand.wait(5)
    await hand.succeed(await hand.lease_one())
    await RollUp(hand.engine.context).catch_up()
    found = await assert_equal_to_events(hand)
    assert sorted(round(seconds, 3) for seconds in found["waited"].values()) == [0, 2, 5]


async def test_a_transaction_that_commits_late_is_counted_once(hand):
    execution_id, assignment = await hand.start()
    leader = RollUp(hand.engine.context)
    async with hand.engine.context.database.pool.acquire() as other:
        late = other.transaction()
        await late.start()
        await other.execute(
            "insert into tenax.log (execution_id, at, events) values ($1, tenax.now(), $2)",
            execution_id,
            '[{"type":"late_result","step":"only","attempt":1,"data":{"status":"succeeded","result":1}}]',
        )
        await hand.succeed(assignment)
        await leader.catch_up()
        [[before]] = await hand.sql("select count(*) from tenax.event_minute where kind = 'late_result'")
        assert before == 0
        number = await other.fetchval("select pg_current_xact_id()::text::bigint")
        assert await _is_waited_for(hand, number)
        await late.commit()
    await hand.submit()
    await leader.catch_up()
    await leader.catch_up()
    [[n]] = await hand.sql("select sum(n) from tenax.event_minute where kind = 'late_result'")
    assert n == 1
    await assert_equal_to_events(hand)


async def test_a_transaction_that_is_rolled_back_is_not_waited_for(hand):
    leader = RollUp(hand.engine.context)
    async with hand.engine.context.database.pool.acquire() as other:
        lost = other.transaction()
        await lost.start()
        await other.execute("insert into tenax.log (execution_id, at, events) values (1, tenax.now(), '[]')")
        number = await other.fetchval("select pg_current_xact_id()::text::bigint")
        await leader.catch_up()
        await lost.rollback()
    assert await _is_waited_for(hand, number)
    await hand.pass_time(rolling.IDLE_SAVE)
    await leader.catch_up()
    assert not await _is_waited_for(hand, number)


async def _is_waited_for(hand, number):
    """Other tests on the same PostgreSQL may have transactions under way, too."""
    [[waits]] = await hand.sql("select $1::bigint = any(open) from tenax.roll_up", number)
    return waits


async def test_the_log_is_not_counted_until_a_time_that_has_not_come(hand):
    """The clock was ahead, and has been set right since."""
    leader = RollUp(hand.engine.context)
    await leader.catch_up()
    await hand.sql("update tenax.roll_up set counted_at = counted_at + interval '1 day'")
    await leader.catch_up()
    assert await hand.sql("select counted_at from tenax.roll_up") == [(await hand.clock.now(),)]


async def test_what_is_killed_before_its_commit_is_counted_by_the_next_leader(hand, monkeypatch):
    _, assignment = await hand.start()
    await hand.fail(assignment)
    leader = RollUp(hand.engine.context)

    async def killed(*_: object) -> None:
        raise asyncpg.AdminShutdownError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(log_cursor, "save_cursor", killed)
        with pytest.raises(Exception, match="killed"):
            await leader.round()
    assert await hand.sql("select from tenax.attempt_minute") == []
    await RollUp(hand.engine.context).catch_up()
    await leader.catch_up()
    await assert_equal_to_events(hand)


async def test_two_leaders_at_once_count_each_row_once(hand):
    import asyncio

    for _ in range(5):
        _, assignment = await hand.start()
        await hand.fail(assignment)
    await asyncio.gather(*(RollUp(hand.engine.context).catch_up() for _ in range(3)))
    await assert_equal_to_events(hand)


async def test_a_large_row_is_counted_by_its_small_parts(hand):
    for text in ("x" * 500_000, '"data":{"seconds":9}' * 5_000):
        _, assignment = await hand.start()
        await hand.succeed(
            assignment, {"text": text + str(random.random()), "noise": random.Random(1).randbytes(9000).hex()}
        )
    await RollUp(hand.engine.context).catch_up()
    await assert_equal_to_events(hand)


async def test_no_statement_names_all_the_items_of_a_large_part(hand, monkeypatch):
    monkeypatch.setattr(rolling, "COUNTED_AT_ONCE", 200)
    execution_id = await hand.submit(MANY_ITEMS, input={"many": list(range(1000))})
    await hand.settle_down()
    leader = RollUp(hand.engine.context)
    await leader.catch_up()
    await hand.act(execution_id, "cancel", reason="they are not needed")
    looked_up: list[int] = []

    def note(query: asyncpg.LoggedQuery) -> None:
        if query.query == sql("load_retries_underway"):
            looked_up.append(len(query.args[1]))  # the steps of the items

    leader._step = 5000
    async with hand.engine.context.transaction() as tx:
        tx.add_query_logger(note)
        await leader._count_in(tx)
        tx.remove_query_logger(note)
    assert sum(looked_up) >= 1000
    assert max(looked_up) < 200 + EVENTS_PER_ROW
    await assert_equal_to_events(hand)


@pytest.mark.odd_log
async def test_a_row_that_cannot_be_read_stops_nothing(hand):
    execution_id, assignment = await hand.start()
    await hand.sql(
        "insert into tenax.log (execution_id, at, events) values ($1, tenax.now(), '[{\"type\": 7}]')",
        execution_id,
    )
    await hand.succeed(assignment)
    await RollUp(hand.engine.context).catch_up()
    [[n]] = await hand.sql("select sum(n) from tenax.attempt_minute")
    assert n == 1


async def test_a_restored_database_is_counted_on_and_nothing_twice(hand):
    _, assignment = await hand.start()
    await hand.succeed(assignment)
    await RollUp(hand.engine.context).catch_up()
    # In the new cluster transactions begin with small numbers: those of the cursor and of the rows lie ahead.
    await hand.sql("update tenax.roll_up set counted = counted + 1000000")
    await hand.sql("update tenax.log set xid = (xid::text::bigint + 20)::text::xid8")
    await RollUp(hand.engine.context).catch_up()
    for _ in range(30):
        await hand.sql("select pg_current_xact_id()")
    _, assignment = await hand.start()
    await hand.succeed(assignment)
    await RollUp(hand.engine.context).catch_up()
    await assert_equal_to_events(hand)


@pytest.mark.settings(metrics_labels=2)
async def test_labels_beyond_the_setting_are_other_for_ever(hand):
    for name in ("a", "b", "c", "a"):
        _, assignment = await hand.start(
            f"name: x\nworkflow: [{{step: {name}, type: python, task: 'some:task'}}]"
        )
        await hand.succeed(assignment)
        await RollUp(hand.engine.context).catch_up()
    totals = await hand.sql("select labels[1] as step, n from tenax.metric_total where metric = 'attempts'")
    assert {row["step"]: row["n"] for row in totals} == {"a": 2, "b": 1, "other": 1}
    steps = await hand.sql("select step, sum(n) as n from tenax.attempt_minute group by step")
    assert {row["step"]: row["n"] for row in steps} == {"a": 2, "b": 1, "c": 1}


@pytest.mark.settings(metrics_keep=3600)
async def test_old_minutes_go_and_the_totals_stay(hand):
    _, assignment = await hand.start()
    await hand.succeed(assignment)
    leader = RollUp(hand.engine.context)
    await leader.catch_up()
    before = await hand.sql("select * from tenax.metric_total order by metric, labels")
    await hand.pass_time(4000)
    await leader.prune()
    assert await hand.sql("select from tenax.attempt_minute") == []
    assert await hand.sql("select from tenax.event_minute") == []
    assert await hand.sql("select * from tenax.metric_total order by metric, labels") == before


async def test_a_part_reads_few_pages_of_a_long_log(hand):
    await hand.sql("""insert into tenax.log (execution_id, at, events)
                      select n, tenax.now(), '[{"type":"execution_completed","data":{"result":"' || repeat('x', 300) || '"}}]'
                        from generate_series(1, 60000) as n""")
    leader = RollUp(hand.engine.context)
    await leader.catch_up()
    await leader.round()
    await hand.start()
    async with transaction(hand.engine.context.database) as tx:
        cursor = await log_cursor.lock_cursor(tx)
        statement = "explain (analyze, buffers, format json) " + sql("read_log_rows")
        [[plan]] = await tx.fetch(statement, cursor.counted, 64, [cursor.counted - 3], cursor.floor, 2000)
    [top] = json.loads(plan)
    pages = top["Plan"]["Shared Hit Blocks"] + top["Plan"]["Shared Read Blocks"]
    assert pages < 1000, pages  # of some 3,000


@pytest.mark.parametrize(
    ("behind", "pause"),
    [(0, 49), (rolling.WHOLE_LAG / 2, 1 / 0.26 - 1), (10 * rolling.WHOLE_LAG, 1)],
)
async def test_counting_takes_a_small_share_of_the_time_and_a_larger_one_the_more_it_lags(
    hand, behind, pause
):
    leader = RollUp(hand.engine.context)
    leader._behind = behind
    await leader.round()
    assert leader.pause_after(1.0, done=False) == pytest.approx(pause)
    assert leader.pause_after(0.001, done=False) == rolling.LEAST_PAUSE
    assert leader.pause_after(1.0, done=True) == rolling.LEAST_PAUSE


async def test_transactions_without_rows_are_no_reason_to_hurry(hand, monkeypatch):
    """A round that begins to hurry would then rest for minutes."""
    monkeypatch.setattr(rolling, "FIRST_STEP", 1)
    leader = RollUp(hand.engine.context)
    await hand.sql("update tenax.roll_up set counted = 0, counted_at = null")
    part = await leader._count_part()
    assert (part.rows, part.done) == (0, False)
    await leader.round()
    assert leader.pause_after(1.0, done=False) == pytest.approx(49)


async def test_a_long_history_is_not_said_to_be_counted_before_it_is(hand):
    _, assignment = await hand.start()
    await hand.succeed(assignment)
    for _ in range(30):
        await hand.sql("select pg_current_xact_id()")
    leader = RollUp(hand.engine.context)
    [[first]] = await hand.sql("select min(xid::text::bigint) from tenax.log")
    await hand.sql("update tenax.roll_up set counted = $1", first - 20)
    leader._step = 10
    assert not (await leader._count_part()).done
    [[counted_at]] = await hand.sql("select counted_at from tenax.roll_up")
    assert (counted_at, leader.lag) == (None, rolling.WHOLE_LAG)
    await leader.catch_up()
    [[counted_at]] = await hand.sql("select counted_at from tenax.roll_up")
    assert (counted_at, leader.lag) == (await hand.clock.now(), 0)
    await assert_equal_to_events(hand)


async def test_a_large_log_is_read_in_parts_and_full_ranges_are_summarized(hand):
    await RollUp(hand.engine.context).catch_up()
    for _ in range(30):
        await hand.sql("""insert into tenax.log (execution_id, at, events)
                          select n, tenax.now(), '[{"type":"execution_completed","data":{"result":"' || repeat('x', 300) || '"}}]'
                            from generate_series(1, 1000) as n""")
    leader = RollUp(hand.engine.context)
    leader._step, parts = 2, 0
    while not (await leader._count_part()).done:
        parts += 1
    assert parts > 2
    await leader.round()
    [[n]] = await hand.sql("select n from tenax.metric_total where metric = 'events'")
    assert n == 30_000
    full = {name: ranges for name, ranges in leader._summarized.items() if ranges}
    assert sum(full.values()) >= 8  # some 1,500 pages, 128 to a range
    for name, ranges in full.items():
        # PostgreSQL has nothing left to summarize there.
        [[again]] = await hand.sql(
            "select sum(brin_summarize_range($1::text::regclass, n * 128)) from generate_series(0, $2::bigint - 1) as n",
            name,
            ranges,
        )
        assert again == 0


async def test_a_part_ends_with_the_transaction_that_has_enough_rows(hand):
    leader = RollUp(hand.engine.context)
    await leader.catch_up()
    for _ in range(4):
        await hand.sql(
            """insert into tenax.log (execution_id, at, events)
                          select n, tenax.now(), '[{"type":"execution_completed","data":{"result":1}}]' from generate_series(1, $1::integer) as n""",
            rolling.WANTED_ROWS - 1,
        )
    leader._step = rolling.LARGEST_STEP
    parts = [await leader._count_part() for _ in range(2)]
    assert [part.rows for part in parts] == [2 * rolling.WANTED_ROWS - 2] * 2
    assert parts[1].done or (await leader._count_part()).rows == 0
    [[n]] = await hand.sql("select n from tenax.metric_total where metric = 'events'")
    assert n == 4 * (rolling.WANTED_ROWS - 1)


async def test_a_slow_server_gets_past_the_transactions_of_other_databases(hand):
    """Each look at the clock takes a second here, so that every part takes longer than the round may."""
    leader = RollUp(hand.engine.context, clock=count().__next__)
    await leader.catch_up()
    async with hand.engine.context.database.pool.acquire() as other:
        await other.execute(
            "do $$ begin for n in 1..3000 loop perform pg_current_xact_id(); commit; end loop; end $$"
        )
    _, assignment = await hand.start()
    await hand.succeed(assignment)
    assert await leader.round()
    await assert_equal_to_events(hand)
