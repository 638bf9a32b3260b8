"""Tests submissions: a single one is one statement, and its inputs need not be read to be leased."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from support.hand import ONE_STEP, Hand, one_postgres

from tenax.engine.caches import input_cache as inputs
from tenax.engine.graph.start_steps import TURN_TAKING_STEPS
from tenax.errors import Unreachable
from tenax.model.wire import Submission
from tenax.store.journal import EVENTS_PER_ROW
from tenax.store.statements import sql

CALL = {"type": "python", "task": "some:task"}


def workflow(*steps: dict[str, Any], **top: Any) -> str:
    named = [{**CALL, "step": f"s{n}", **step} for n, step in enumerate(steps)]
    return json.dumps({"name": "flow", **top, "workflow": named})


async def sent(hand: Hand) -> list[str]:
    """A list to which the text of every statement is added that is sent from now on."""
    database, texts = hand.engine.context.database, list[str]()

    def note(query: Any) -> None:
        texts.append(query.query)

    async with AsyncExitStack() as stack:
        for pool in (database.pool, database.planned_pool):
            for _ in range(pool.get_size()):
                (await stack.enter_async_context(pool.acquire())).add_query_logger(note)
    return texts


async def kept(hand: Hand, execution_id: int) -> list[Any]:
    """Returns everything that is stored of an execution, without its number and those of its rows."""
    rows: list[Any] = []
    for table, key in (("execution", "id"), ("item", "execution_id"), ("step", "execution_id")):
        found = await hand.sql(
            f"select to_jsonb(t) - 'id' - 'execution_id' as row from tenax.{table} t where {key} = $1 order by 1",
            execution_id,
        )
        rows.append([json.loads(row["row"]) for row in found])
    events = await hand.events(execution_id)
    return [*rows, [{k: v for k, v in e.items() if k not in ("id", "execution_id")} for e in events]]


PLAIN = {
    "one step": ONE_STEP,
    "a chain": workflow({}, {"needs": ["s0"]}, deadline="1h"),
    "a fan-out later on": workflow({}, {"needs": ["s0"], "for_each": [1, 2]}),
    "time in the queue": workflow({"queue_ttl": "5m"}),
    "a sleep": workflow({"type": "sleep", "for": "10s", "task": None}).replace('"task": null, ', ""),
    "labels": workflow(
        {"labels": {"gpu": "yes"}, "priority": 3, "timeout": "9s", "retry": {"max_attempts": 4}}
    ),
    "what varies": workflow({"args": {"n": 1}, "retry": {"vary": [{"args": {"n": 2}}, {"args": {"n": 3}}]}}),
}


@pytest.mark.parametrize("source", PLAIN.values(), ids=PLAIN)
async def test_one_that_comes_alone_is_one_statement_and_leaves_what_several_leave(hand, source: str):
    two = [s.id for s in await hand.engine.submit([Submission(source=source)] * 2)]
    statements = await sent(hand)
    alone = await hand.submit(source)
    [statement] = statements
    assert "insert into tenax.execution" in statement
    assert alone == two[-1] + 1
    assert await kept(hand, alone) == await kept(hand, two[0])


NOT_SO_PLAIN = {
    "two steps at once": workflow({}, {"needs": ["s0"]}, {}),
    "a limit": workflow({"concurrency": {"limit": 1}}),
}


@pytest.mark.parametrize("source", NOT_SO_PLAIN.values(), ids=NOT_SO_PLAIN)
async def test_what_begins_otherwise_goes_the_full_way_alone_too(hand, source: str):
    two = [s.id for s in await hand.engine.submit([Submission(source=source)] * 2)]
    alone = await hand.submit(source)
    assert await kept(hand, alone) == await kept(hand, two[0])


NEEDS_ITS_ID: dict[str, tuple[str, Callable[[int], str]]] = {
    "a condition": (
        workflow({"when": "execution_id > 0"}),
        lambda id_: f"select from tenax.item where execution_id = {id_}",
    ),
    "a key": (
        workflow({"concurrency": {"limit": 1, "key": "{{ execution_id }}"}}),
        lambda id_: f"select from tenax.item where (limits).key like '%:{id_}'",
    ),
    "a crowd": (
        workflow(*[{}] * (TURN_TAKING_STEPS + 1)),
        lambda id_: f"select from tenax.item where lane = {id_} limit 1",
    ),
}


@pytest.mark.parametrize(("source", "look"), NEEDS_ITS_ID.values(), ids=NEEDS_ITS_ID)
async def test_what_is_started_by_its_id_has_that_before(hand, source: str, look: Callable[[int], str]):
    id_ = await hand.submit(source)
    assert id_ > 0
    assert len(await hand.sql(look(id_))) == 1


READS = workflow(
    {"args": {"x": "{{ input }}"}, "retry": {"max_attempts": 3, "initial_delay": 1, "jitter": 0}},
    input={"x": {}, "long": {}},
)


async def test_what_was_submitted_here_is_leased_without_reading_its_input(hand):
    await hand.submit(READS, input={"x": 0})
    await hand.lease_one()
    await hand.engine.submit([Submission(source=READS, input={"x": n}) for n in (1, 2)])
    await hand.submit(READS, input={"x": 3})
    statements = await sent(hand)
    leased = await hand.lease()
    assert [a.spec["args"]["x"] for a in sorted(leased, key=lambda a: a.item_id)] == [
        {"x": 1},
        {"x": 2},
        {"x": 3},
    ]
    assert sql("load_small_inputs") not in statements


async def test_every_server_and_every_attempt_sees_the_same_input(hand):
    """A key of an idempotent call may be made of it: neither the order nor the kind of its values may change."""
    _, first = await hand.start(READS, input={"long": {"bb": 1e16, "a": [1.0, -0.0]}, "x": 2**53})
    first.spec["args"]["x"]["long"].clear()  # whoever gets it may do with it what he likes
    await hand.fail(first)
    await hand.clock.advance(10)
    again = await hand.lease_one()
    await hand.fail(again)
    await hand.clock.advance(10)
    elsewhere = await (await hand.restarted()).lease_one()
    assert repr(again.spec["args"]) == repr(elsewhere.spec["args"])
    assert again.spec["args"]["x"]["long"]


async def test_large_inputs_and_old_ones_are_read_when_they_are_needed(hand, monkeypatch):
    monkeypatch.setattr(inputs, "MOST_REMEMBERED", 2)
    given: list[Any] = [1, 2, 3, 4, "".join(map(chr, range(200, 2500)))]
    for x in given:
        await hand.submit(READS, input={"x": x})
    await hand.lease_one(slots=1)
    statements = await sent(hand)
    leased = await hand.lease()
    assert [a.spec["args"]["x"]["x"] for a in sorted(leased, key=lambda a: a.item_id)] == given[1:]
    assert statements.count(sql("load_small_inputs")) == 1


async def test_a_batch_with_a_taken_key_is_written_whole_or_not_at_all(hand, monkeypatch):
    """The key is looked up after the others are inserted. Should that fail, their callers submit again: nothing may be left."""
    await hand.submit(key="taken")

    async def lost(*_: object) -> None:
        raise Unreachable("the connection is gone")

    with monkeypatch.context() as patched:
        patched.setattr("tenax.engine.submit.submit.prepare_submit", lost)
        with pytest.raises(Unreachable):
            await hand.engine.submit([Submission(source=ONE_STEP), Submission(source=ONE_STEP, key="taken")])
    assert len(await hand.sql("select from tenax.execution")) == 1


@one_postgres
async def test_the_events_of_a_large_submission_are_in_order_whatever_the_plan(hand):
    """They are many rows of the log. A hash join, which statistics may call for, turns rows around."""
    last = 10 * EVENTS_PER_ROW
    pool = hand.engine.context.database.pool
    async with AsyncExitStack() as stack:
        for _ in range(pool.get_size()):
            session = await stack.enter_async_context(pool.acquire())
            await session.execute("set enable_nestloop = off; set enable_mergejoin = off")
    id_ = await hand.submit(workflow(*[{"when": "false"}] * last))
    events = [e["step"] or e["type"] for e in await hand.events(id_)]
    assert events == ["execution_started", *(f"s{n}" for n in range(last)), "execution_completed"]
