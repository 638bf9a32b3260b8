"""Tests a new execution for which a worker waits: one statement writes it and leases its item."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from support.hand import ONE_STEP, Hand
from support.recorded.report_paths import chain, left_behind

from tenax.engine.lease.render_inputs import InputRenderer
from tenax.errors import Unreachable
from tenax.model.wire import Assignment, LeaseRequest, Submission
from tenax.policy.dispatch.assignment import Candidate

WAITS_FOR_INPUT = chain(1, "args: {x: '{{ input.x }}'}", top="input: {x: {type: string}}")


async def park(hand: Hand, worker: str = "w1", slots: int = 1, **more: Any) -> asyncio.Task[list[Assignment]]:
    """A request for which there is nothing yet, and which has been looked at."""
    asked = {"runtimes": ("python",), "wait": 60, **more}
    request = LeaseRequest(worker, str(uuid.uuid4()), slots, **asked)
    parked = asyncio.create_task(hand.engine.dispatcher.lease(request))
    await asyncio.sleep(0)
    await look(hand)
    return parked


async def look(hand: Hand) -> None:
    """Does what the dispatcher does by itself when there is news."""
    dispatcher = hand.engine.dispatcher
    dispatcher._wake.clear()
    while await dispatcher.claim():
        pass


async def given(parked: asyncio.Task[list[Assignment]]) -> Assignment:
    async with asyncio.timeout(10):
        [assignment] = await parked
    return assignment


async def is_queued(hand: Hand, id_: int) -> bool:
    [item] = await hand.sql("select state, attempt from tenax.item where execution_id = $1", id_)
    assert (item["state"], item["attempt"]) in (("queued", 0), ("leased", 1))
    return item["state"] == "queued"


async def let_go(*parked: asyncio.Task[list[Assignment]]) -> None:
    for one in parked:
        one.cancel()
    await asyncio.wait(parked)


@asynccontextmanager
async def nothing_is_written(hand: Hand) -> AsyncIterator[None]:
    blocker = await hand.engine.context.database.connect()
    async with blocker.transaction():
        await blocker.execute("lock table tenax.item in access exclusive mode")
        yield
    await blocker.close()


async def blocked(hand: Hand) -> int:
    """The session that waits for the lock."""
    async with asyncio.timeout(10):
        while not (
            found := await hand.sql(
                "select pid from pg_stat_activity where wait_event_type = 'Lock' and query like '%tenax.execution_id%'"
            )
        ):
            pass
    return int(found[0]["pid"])


PLAIN = {
    "one step": ONE_STEP,
    "a chain": chain(2, top="deadline: 1h"),
    "time in the queue": chain(1, "queue_ttl: 5m, timeout: 9s"),
    "labels": chain(1, "labels: {gpu: 'yes'}, priority: 3, retry: {max_attempts: 4}"),
    "what varies": chain(1, "args: {n: 1}, retry: {vary: [{args: {n: 2}}, {args: {n: 3}}]}"),
}


@pytest.mark.parametrize("source", PLAIN.values(), ids=PLAIN)
async def test_it_is_one_statement_and_leaves_what_submitting_and_leasing_leave(hand, source: str):
    labels = {"gpu": "yes"}
    queued = await hand.submit(source)
    usual = await hand.lease_one(labels=labels)
    parked = await park(hand, labels=labels)
    statements: list[str] = []
    async with hand.engine.context.statements() as tx:
        tx.add_query_logger(lambda query: statements.append(query.query))
    id_ = await hand.submit(source)
    at_once = await given(parked)
    [statement] = statements
    assert "insert into tenax.execution" in statement
    left, expected = await left_behind(hand, id_), await left_behind(hand, queued)
    told = [event for row in left.pop("log") for event in row["events"]]
    assert told == [event for row in expected.pop("log") for event in row["events"]]
    assert left == expected
    own = {
        "execution_id": id_,
        "item_id": at_once.item_id,
        "token": at_once.token,
        "receipt": at_once.receipt,
    }
    assert at_once == Assignment(**{**_fields(usual), **own})
    await hand.fail(at_once)
    await hand.clock.advance(1)
    assert [a.execution_id for a in await hand.lease(labels=labels)] == (
        [id_] if "retry" in source or source is ONE_STEP else []
    )


def _fields(assignment: Assignment) -> dict[str, Any]:
    return {name: getattr(assignment, name) for name in assignment.__slots__}


async def test_its_input_is_what_every_later_attempt_sees(hand):
    for x in ("short", "long" * 1000):
        parked = await park(hand)
        await hand.submit(WAITS_FOR_INPUT, input={"x": x})
        assert (await given(parked)).spec["args"] == {"x": x}


async def test_what_is_ready_already_goes_first(hand):
    parked = await park(hand)
    [first, _] = await hand.engine.submit([Submission(source=ONE_STEP)] * 2)
    last = await hand.submit()
    assert await is_queued(hand, last)
    await look(hand)
    assert (await given(parked)).execution_id == first.id


async def test_while_there_may_be_something_out_of_the_common_it_waits_for_its_turn(hand):
    parked = await park(hand)
    hand.engine.context.notifier.announce(restricted=True)
    id_ = await hand.submit()
    assert await is_queued(hand, id_)
    await look(hand)
    assert (await given(parked)).execution_id == id_


UNABLE: dict[str, dict[str, Any]] = {
    "another runtime": {"runtimes": ("http",)},
    "another queue": {"queues": ("other",)},
    "an execution of its own": {"execution_id": 1},
}


@pytest.mark.parametrize("asks", UNABLE.values(), ids=UNABLE)
async def test_whoever_is_not_able_is_not_given_it(hand, asks: dict[str, Any]):
    parked = await park(hand, **asks)
    assert await is_queued(hand, await hand.submit())
    await let_go(parked)


async def test_labels_must_be_met(hand):
    parked = await park(hand, labels={"gpu": "no"})
    assert await is_queued(hand, await hand.submit(PLAIN["labels"]))
    await let_go(parked)


async def test_a_queue_with_a_limit_is_counted_first(hand):
    await hand.engine.limit_queue("default", concurrency=1, rate=None, burst=None, actor="ann")
    parked = await park(hand)
    assert await is_queued(hand, await hand.submit())
    await look(hand)
    await given(parked)
    assert await is_queued(hand, await hand.submit())


async def test_it_goes_to_whoever_has_least_to_do(hand):
    for name in ("busy", "idle"):
        await hand.register(name)
    await hand.look()
    [await hand.submit() for _ in range(3)]
    assert len(await hand.lease("busy", slots=3)) == 3
    busy, idle = await park(hand, "busy"), await park(hand, "idle")
    id_ = await hand.submit()
    assert (await given(idle)).execution_id == id_
    again = await hand.submit()
    assert (await given(busy)).execution_id == again
    events = await hand.events(again)
    assert events[-1]["data"]["worker"] == "busy"


async def test_a_worker_that_is_paused_or_silent_gets_nothing(hand):
    await hand.register("w1")
    await hand.look()
    parked = await park(hand)
    await hand.engine.pause_worker("w1", actor="ann")
    assert await is_queued(hand, await hand.submit())
    await hand.engine.resume_worker("w1", actor="ann")
    await look(hand)
    await given(parked)
    parked = await park(hand)
    heard_workers = hand.engine.dispatcher.heard_workers
    heard_workers._heard["w1"] -= heard_workers.silence_limit + 1
    assert await is_queued(hand, await hand.submit())
    await let_go(parked)


async def test_one_that_goes_away_meanwhile_has_it_handed_back(hand):
    parked = await park(hand)
    async with nothing_is_written(hand):
        submitting = asyncio.create_task(hand.submit())
        await blocked(hand)
        await let_go(parked)
    id_ = await submitting
    await hand.engine.dispatcher.close()
    assert (await hand.types(id_))[-2:] == ["action_started", "lease_released"]
    again = await hand.lease_one("w2")
    assert (again.execution_id, again.is_retry) == (id_, False)


async def test_one_whose_time_is_up_meanwhile_still_gets_it(hand):
    parked = await park(hand)
    dispatcher = hand.engine.dispatcher
    [request] = dispatcher._waiting
    async with nothing_is_written(hand):
        submitting = asyncio.create_task(hand.submit())
        await blocked(hand)
        dispatcher._let_go(request)
        assert not parked.done()
    assert (await given(parked)).execution_id == await submitting


async def test_a_submission_that_breaks_off_leaves_nobody_waiting_and_nothing_leased(hand):
    parked = await park(hand)
    async with nothing_is_written(hand):
        submitting = asyncio.create_task(hand.submit())
        pid = await blocked(hand)
        await hand.sql("select pg_terminate_backend($1)", pid)
        with pytest.raises(Unreachable):
            await submitting
        assert await parked == [], "its worker asks again, by another grant"
    assert await hand.sql("select from tenax.item") == []
    parked = await park(hand)
    id_ = await hand.submit()
    assert (await given(parked)).execution_id == id_


@contextmanager
def answer_lost(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The statement goes through, and the connection breaks before anyone hears of it."""
    from tenax.engine.graph import start_execution as module

    real = module.insert_executions

    async def lost(*arguments: Any) -> Any:
        await real(*arguments)
        raise Unreachable("the connection is gone")

    with monkeypatch.context() as patched:
        patched.setattr(module, "insert_executions", lost)
        yield


async def test_what_was_committed_as_the_answer_was_lost_is_handed_back(hand, monkeypatch):
    """The lease is there, and nobody knows. The next claim releases it, by its grant."""
    parked = await park(hand)
    with answer_lost(monkeypatch), pytest.raises(Unreachable):
        await hand.submit()
    assert await parked == []
    again = await given(await park(hand))
    assert (await hand.types(again.execution_id))[2:] == [
        "action_started",
        "lease_released",
        "action_started",
    ]


async def turns(until: Callable[[], bool]) -> None:
    """As many turns of the event loop as it takes."""
    async with asyncio.timeout(10):
        while not until():  # noqa: ASYNC110 -- what the dispatcher has seen is nobody's event
            await asyncio.sleep(0)


@asynccontextmanager
async def dispatching(hand: Hand) -> AsyncIterator[None]:
    running = asyncio.create_task(hand.engine.dispatcher.run())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def ask(hand: Hand) -> asyncio.Task[list[Assignment]]:
    request = LeaseRequest("w1", str(uuid.uuid4()), 1, ("python",), wait=60)
    return asyncio.create_task(hand.engine.dispatcher.lease(request))


async def ask_in_vain(hand: Hand) -> asyncio.Task[list[Assignment]]:
    parked = ask(hand)
    await turns(lambda: bool(hand.engine.dispatcher._claims._state.in_vain))
    return parked


async def news_has_passed(hand: Hand) -> None:
    """The dispatcher has heard it, and nobody was there to look."""
    await turns(lambda: not hand.engine.dispatcher._wake.is_set())


async def test_what_comes_before_its_worker_asks_again_is_next(hand):
    """Nobody was parked when its news came. No timer runs here that would look for it later."""
    async with dispatching(hand):
        parked = await ask_in_vain(hand)
        assert not await is_queued(hand, await hand.submit())
        await given(parked)
        second = await hand.submit()
        await news_has_passed(hand)
        assert (await given(ask(hand))).execution_id == second


async def test_what_was_lost_on_its_way_is_handed_back_as_soon_as_someone_asks(hand, monkeypatch):
    async with dispatching(hand):
        parked = await ask_in_vain(hand)
        with answer_lost(monkeypatch), pytest.raises(Unreachable):
            await hand.submit()
        assert await parked == []
        await news_has_passed(hand)
        again = await given(ask(hand))
        assert "lease_released" in await hand.types(again.execution_id)


async def test_a_server_that_stops_hands_back_what_it_is_in_doubt_about(hand, monkeypatch):
    await park(hand)
    with answer_lost(monkeypatch), pytest.raises(Unreachable):
        await hand.submit()
    await hand.engine.dispatcher.close()
    [item] = await hand.sql("select state, ledger from tenax.item")
    assert (item["state"], item["ledger"]) == ("queued", None)


async def test_what_is_stored_is_submitted_whatever_becomes_of_its_lease(hand, monkeypatch):
    parked = await park(hand)

    async def broken(*_: object) -> None:
        raise RuntimeError("it cannot be read")

    monkeypatch.setattr(InputRenderer, "prepare", broken)
    id_ = await hand.submit(WAITS_FOR_INPUT, input={"x": "long" * 1000})
    monkeypatch.undo()
    assert await parked == []
    again = await given(await park(hand))
    assert (again.execution_id, again.spec["args"]) == (id_, {"x": "long" * 1000})


async def test_a_request_that_has_just_ended_is_not_reserved(hand):
    want = Candidate(0, "default", "python")
    dispatcher = hand.engine.dispatcher
    parked = await park(hand)
    parked.cancel()  # whoever asked has not heard it yet, and its request still stands there
    assert dispatcher._waiting
    assert dispatcher.reserve(want) is None
    await let_go(parked)
    assert not (await park(hand)).done()
    assert dispatcher.reserve(want) is not None


async def test_what_cannot_be_rendered_fails_and_the_request_goes_on_waiting(hand):
    parked = await park(hand)
    id_ = await hand.submit(WAITS_FOR_INPUT.replace("input.x ", "input.x.deep "), input={"x": "flat"})
    await hand.finish_background_work()
    assert await hand.status(id_) == "failed"
    assert not parked.done()
    await look(hand)
    fine = await hand.submit()
    assert (await given(parked)).execution_id == fine


async def test_it_is_cancelled_and_paused_like_any_other(hand):
    for action in (hand.engine.pause, hand.engine.cancel):
        parked = await park(hand)
        id_ = await hand.submit()
        a = await given(parked)
        assert await action(id_, actor="ann")
        answer = await hand.succeed(a)
        assert answer.status == ("applied" if action == hand.engine.pause else "late")


async def test_a_worker_that_vanishes_with_it_costs_it_an_attempt_and_no_more(hand):
    await hand.register("w1")
    parked = await park(hand)
    id_ = await hand.submit()
    await given(parked)
    await hand.pass_time(hand.engine.context.settings.lease + 1)
    await hand.engine.reap()
    assert "lease_expired" in await hand.types(id_)
    await hand.clock.advance(5)
    assert (await hand.lease_one("w2")).attempt == 2
