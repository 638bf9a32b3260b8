"""Tests that a report leaves the same rows and events whether it is decided on from memory or from the rows."""

from __future__ import annotations

from typing import Any

import pytest
from support.hand import ONE_STEP, Hand
from support.recorded.report_paths import chain, decided_from_memory, left_behind, success

from tenax.engine.caches.lease_cache import LeaseCache
from tenax.model.wire import Assignment

LABELS = {"zone": "north"}
TOOK = 1.25
RUNTIMES = """
name: runtimes
workflow:
  - {step: a, type: python, task: "t:t"}
  - {step: b, type: process, command: ["true"], needs: [a]}
  - {step: c, type: http, url: "http://localhost/", needs: [b]}
"""


async def from_memory(hand: Hand, a: Assignment, result: Any) -> None:
    assert await decided_from_memory(hand, success(a, result)) == {a.item_id}


async def from_rows(hand: Hand, a: Assignment, result: Any) -> None:
    hand.engine.context.lease_cache = LeaseCache()
    [answer] = await hand.engine.report([success(a, result)])
    assert (answer.item_id, answer.status, answer.verdict) == (a.item_id, "applied", "complete")


async def trail(
    hand: Hand, source: str, finish: Any, results: Any, *, most: int = 100, **more: Any
) -> list[dict[str, list[dict[str, Any]]]]:
    """Returns what was there after the submission, and after each report."""
    id_ = await hand.submit(source, **more)
    seen = [await left_behind(hand, id_)]
    for _ in range(most):
        leased = await hand.lease(slots=1, labels=LABELS, queues=("default", "other"))
        if not leased:
            break
        await hand.clock.advance(TOOK)
        await finish(hand, leased[0], results(leased[0]))
        seen.append(await left_behind(hand, id_))
    else:
        await hand.engine.cancel(id_, actor="test")
    return seen


WORKFLOWS = {
    "one step": (ONE_STEP, 1),
    "one step, of which there is more to say": (
        chain(1, "compensate: {type: python, task: 't:u'}, on_failure: continue"),
        1,
    ),
    "five steps": (chain(5), 5),
    "a deadline": (chain(2, top="deadline: 1h"), 2),
    "labels": (chain(2, "labels: {zone: north}"), 2),
    "labels of the second": (chain(3, "priority: 5", "labels: {zone: north}", "priority: 5"), 3),
    "priorities": (chain(3, "priority: 9", "priority: 0", "priority: 3"), 3),
    "queues": (chain(3, "queue: default", "queue: other", "queue: default"), 3),
    "time in the queue": (chain(3, "queue_ttl: 1h", "queue_ttl: 90s", "priority: 5"), 3),
    "timeouts": (chain(3, "timeout: 5s", "timeout: 250ms", "priority: 5"), 3),
    "attempts": (chain(3, "retry: 3", "retry: false", "retry: {max_attempts: unlimited}"), 3),
    "variations": (
        chain(2, "args: {m: a}, retry: {max_attempts: 5, vary: [{args: {m: b}}, {args: {m: c}}]}"),
        2,
    ),
    "runtimes": (RUNTIMES, 3),
    "failures that are forgiven": (chain(3, "on_failure: continue", "on_failure: {value: 1}"), 3),
    "compensations": (chain(3, "compensate: {type: python, task: 't:u'}"), 3),
    "inputs of what is before": (chain(3, "args: {}", 'args: {x: "{{ steps.s0.result }}"}'), 3),
    "a folder": (chain(3), 3, {"base_dir": '/some/folder, {or} "other"'}),
    "a submit key": (chain(2), 2, {"key": "one"}),
    "more steps than are reported on": (chain(51), 3, {"most": 3}),
}


@pytest.mark.parametrize("name", WORKFLOWS)
async def test_both_ways_leave_the_same(hand, name):
    source, reports, *rest = WORKFLOWS[name]
    more = rest[0] if rest else {}
    short = await trail(hand, source, from_memory, lambda a: f"{a.step} {a.item}", **more)
    other = more | ({"key": "two"} if "key" in more else {})
    full = await trail(hand, source, from_rows, lambda a: f"{a.step} {a.item}", **other)
    assert len(short) == len(full) == reports + 1
    for n, (this, that) in enumerate(zip(short, full, strict=True)):
        for table in that:
            assert this[table] == that[table], f"{table} after report {n}"


# fmt: off
RESULTS: list[Any] = [
    None, True, False, 0, -1, 2**63, 0.1, 1e300, -0.0,
    "", "text", "null", "NULL", "{a,b}", 'a "quoted" \\ text, with {braces}', "two\nlines\tand\x7fmore", "x" * 100_000,
    "\\u0000", "größer 😀",
    [], {}, [None, [None]], {"a": {"b": [1, {"c": None}]}, "": ""},
    {"seconds": 5, "decision": {}, "type": "x"},
]
# fmt: on


@pytest.mark.parametrize("source", [chain(2), ONE_STEP], ids=["chain", "one step"])
async def test_results_of_any_kind_are_kept_alike(hand, source):
    for value in RESULTS:
        short = await trail(hand, source, from_memory, lambda a, value=value: value)
        full = await trail(hand, source, from_rows, lambda a, value=value: value)
        assert short == full, repr(value)[:100]


RETRIES = "retry: {max_attempts: 5, initial_delay: 1s, jitter: 0}"
FAILURES: dict[str, tuple[str, dict[str, Any]]] = {
    "a retry": (RETRIES, {"status_code": 503, "message": "busy"}),
    "what may not be retried": (RETRIES, {"status_code": 404}),
    "a fatal one": (RETRIES, {"fatal": True, "message": "never"}),
    "the callee's own delay": (RETRIES, {"status_code": 429, "retry_after": 30.0}),
    "a timeout": (RETRIES, {"timed_out": True}),
    "no attempt left": ("retry: false", {"status_code": 503}),
    "a variation": ("args: {m: a}, retry: {max_attempts: 5, vary: [{args: {m: b}}]}", {"status_code": 503}),
    "a value instead": ("retry: false, on_failure: {value: 1}", {"status_code": 503}),
    "going on": ("retry: false, on_failure: continue", {"status_code": 503}),
    "no facts at all": (RETRIES, {}),
    "a long message": (RETRIES, {"message": "x" * 2000 + "\x00", "status_code": 500}),
}


async def after_failures(hand: Hand, more: str, facts: dict[str, Any], *, forget: bool) -> list[Any]:
    """Returns all rows and events after the first attempt has failed, and after the next one."""
    id_ = await hand.submit(chain(2, more))
    seen = []
    for _ in range(2):
        for a in await hand.lease():
            await hand.clock.advance(TOOK)
            if forget:
                hand.engine.context.lease_cache = LeaseCache()
            answer = await hand.fail(a, **facts)
            seen.append((answer.status, answer.verdict))
        seen.append(await left_behind(hand, id_))
        await hand.clock.advance(40)
    if await hand.status(id_) == "running":
        await hand.engine.cancel(id_, actor="test")
    return seen


@pytest.mark.parametrize("name", FAILURES)
async def test_failures_leave_the_same_whether_the_lease_is_remembered_or_not(hand, name):
    known = await after_failures(hand, *FAILURES[name], forget=False)
    assert known == await after_failures(hand, *FAILURES[name], forget=True)


BEFORE = {"two retries": Hand.fail, "handed back twice": Hand.hand_back}


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("steps", [1, 2])
async def test_a_success_of_a_later_attempt_leaves_the_same(hand, steps, before):
    async def at_third_try(finish: Any) -> dict[str, list[dict[str, Any]]]:
        id_ = await hand.submit(chain(steps, RETRIES))
        for _ in range(2):
            await BEFORE[before](hand, await hand.lease_one())
            await hand.clock.advance(10)
        last = await hand.lease_one()
        assert last.attempt == 3
        await hand.clock.advance(TOOK)
        await finish(hand, last, "third")
        found = await left_behind(hand, id_)
        if steps > 1:
            assert found["step"][0]["attempts"] == 3
            await hand.engine.cancel(id_, actor="test")
        return found

    assert await at_third_try(from_memory) == await at_third_try(from_rows)


async def test_a_whole_batch_goes_at_once(hand):
    ids = [await hand.submit(source) for source in (chain(2), ONE_STEP) for _ in range(20)]
    first = await hand.lease(slots=40)
    assert len(await decided_from_memory(hand, *(success(a, a.execution_id) for a in first))) == 40
    second = await hand.lease(slots=40)
    assert [a.step for a in second] == ["s1"] * 20
    assert len(await decided_from_memory(hand, *(success(a, a.execution_id) for a in second))) == 20
    for id_ in ids:
        execution = await hand.get(id_)
        assert (execution["status"], [*execution["result"].values()]) == ("completed", [id_])
    assert await hand.sql("select from tenax.item") == []


async def test_what_is_not_first_in_memory_is_asked_of_the_database(hand):
    """A server that knows nothing of the lease decides in full; one that knows it and is too late says the same."""
    id_, a = await hand.start(chain(2))
    for server in (await hand.restarted(), hand):
        assert await decided_from_memory(server, success(a)) == set()
        assert (await server.succeed(a)).verdict == "complete"
    assert await hand.counts(id_, "action_completed") == (1,)
