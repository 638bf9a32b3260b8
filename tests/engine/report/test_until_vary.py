"""Tests `until`, which runs a success again uncounted, and `vary`, which gives later attempts other inputs."""

from __future__ import annotations

from typing import Any

import pytest
from support.hand import Hand, one_postgres
from support.laws import verify

from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.wire import Assignment

POLL = """
name: poll
workflow:
  - step: job
    type: python
    task: t:t
    args: {{last: "{{{{ previous }}}}", n: "{{{{ attempt }}}}"}}
    until: {until}
    retry: {{max_attempts: 3, initial_delay: 1s, backoff: fixed, jitter: 0{retry}}}
"""
VARY = """
name: vary
input: {{m: {{default: best}}}}
workflow:
  - {{step: ask, {spec}, retry: {{max_attempts: 5, backoff: none, vary: {vary}{retry}}}}}
"""
PYTHON = "type: python, task: 't:t', args: {model: a}"
POLLED = ", until: {condition: result == 1, delay: 1s}"


def polling(until: str = "{condition: result.done, delay: 5s}", retry: str = "") -> str:
    return POLL.format(until=until, retry=retry)


def varying(vary: str, *, spec: str = PYTHON, retry: str = "") -> str:
    return VARY.format(spec=spec, vary=vary, retry=retry)


async def poll_once(hand: Hand, result: Any, delay: float = 5) -> Assignment:
    """The attempt that is ready finds it not yet done."""
    assignment = await hand.lease_one()
    assert (await hand.succeed(assignment, result)).verdict == "retry"
    await hand.clock.advance(delay)
    return assignment


async def decisions_made_again(hand: Hand, id_: int) -> int:
    report = await verify(hand, id_)
    assert report["violations"] == []
    return int(report["decisions"])


# -- until


async def test_a_success_that_is_not_done_runs_again_after_its_delay_uncounted(hand):
    id_, first = await hand.start(polling())
    assert first.spec["args"] == {"last": None, "n": 1}
    assert (await hand.succeed(first, {"done": False, "page": 1})).verdict == "retry"
    await hand.clock.advance(4.999)
    assert await hand.lease() == []
    await hand.clock.advance(0.001)
    second = await hand.lease_one()
    assert second.spec["args"] == {"last": {"done": False, "page": 1}, "n": 2}
    assert (second.attempt, second.is_retry) == (2, False)
    assert (await hand.succeed(second, {"done": True})).verdict == "complete"
    assert await hand.types(id_) == [
        "execution_started",
        "step_enqueued",
        "action_started",
        "action_polled",
        "step_retry",
        "action_started",
        "action_completed",
        "step_completed",
        "execution_completed",
    ]
    [polled] = await hand.data_of(id_, "action_polled")
    assert (polled["result"], polled["polls"]) == ({"done": False, "page": 1}, 1)
    [retry] = await hand.data_of(id_, "step_retry")
    assert (retry["delay_seconds"], retry["last_error"]) == (5.0, None)
    assert retry["decision"]["after"]["counted"] == 0
    execution = await hand.get(id_)
    assert execution["result"] == {"job": {"done": True}}
    assert (execution["steps"]["job"]["counted"], execution["steps"]["job"]["polls"]) == (1, 1)
    assert await decisions_made_again(hand, id_) == 2


@one_postgres
async def test_a_step_polls_a_thousand_times_without_an_attempt_counted_over_a_restart(hand):
    id_ = await hand.submit(polling())
    for n in range(1000):
        if n == 500:
            hand = await hand.restarted()
        await poll_once(hand, {"done": False, "n": n})
    last = await hand.lease_one()
    assert (last.attempt, last.spec["args"]["last"]) == (1001, {"done": False, "n": 999})
    assert (await hand.succeed(last, {"done": True})).verdict == "complete"
    step = (await hand.get(id_))["steps"]["job"]
    assert (step["counted"], step["attempt"], step["polls"]) == (1, 1001, 1000)
    after = [d["decision"]["after"] for d in await hand.data_of(id_, "step_retry")]
    assert {ledger["counted"] for ledger in after} == {0}
    assert [ledger["polls"] for ledger in after] == list(range(1, 1001))
    assert await decisions_made_again(hand, id_) == 1001


async def test_polls_beyond_their_limit_are_a_timeout_that_the_policy_judges(hand):
    id_ = await hand.submit(polling("{condition: result.done, max_polls: 2}"))
    for _ in range(2):
        await poll_once(hand, {"done": False})
    answers = []
    for _ in range(3):
        answers.append((await hand.succeed(await hand.lease_one(), {"done": False})).verdict)
        await hand.clock.advance(1)
    assert answers == ["retry", "retry", "fail"]
    errors = await hand.data_of(id_, "action_error")
    assert [(e["failure"]["class"], e["failure"]["reason"]) for e in errors] == [
        ("timeout", "until_limit")
    ] * 3
    assert errors[0]["failure"]["message"] == "not done after 2 polls (max_polls of `until`)"
    failure = (await hand.get(id_))["failure"]
    assert (failure["reason"], failure["attempts"]) == ("until_limit", 5)
    assert (await hand.data_of(id_, "step_retry_exhausted"))[0]["attempts"] == 3
    assert await decisions_made_again(hand, id_) == 5


async def test_the_limit_may_be_ruled_out_by_its_reason(hand):
    id_ = await hand.submit(
        polling("{condition: result.done, max_polls: 1}", retry=", never_on: [until_limit]")
    )
    await poll_once(hand, {"done": False})
    assert (await hand.succeed(await hand.lease_one(), {"done": False})).verdict == "fail"
    assert await hand.status(id_) == "failed"
    assert await decisions_made_again(hand, id_) == 2


async def test_a_poll_that_would_start_after_the_deadline_is_not_planned(hand):
    id_ = await hand.submit(
        polling(
            "{condition: result.done, delay: 5s, deadline: 12s, max_polls: unlimited}",
            retry=", retryable: false",
        )
    )
    for _ in range(2):
        await poll_once(hand, {"done": False})
    assert (await hand.succeed(await hand.lease_one(), {"done": False})).verdict == "fail"
    failure = (await hand.get(id_))["failure"]
    assert (failure["class"], failure["reason"]) == ("timeout", "until_limit")
    assert failure["message"] == "not done within 12s (the deadline of `until`)"
    assert await decisions_made_again(hand, id_) == 3


async def test_failures_between_polls_count_and_do_not_forget_what_was_polled(hand):
    id_ = await hand.submit(polling())
    await poll_once(hand, {"done": False, "page": 1})
    assert (await hand.fail(await hand.lease_one())).verdict == "retry"
    await hand.clock.advance(1)
    again = await hand.lease_one()
    assert (again.spec["args"]["last"], again.is_retry) == ({"done": False, "page": 1}, True)
    assert (await hand.succeed(again, {"done": False, "page": 2})).verdict == "retry"
    await hand.clock.advance(5)
    assert (await hand.fail(await hand.lease_one())).verdict == "retry"
    await hand.clock.advance(1)
    await poll_once(hand, {"done": False, "page": 3})
    assert (await hand.fail(await hand.lease_one())).verdict == "fail"
    failure = (await hand.get(id_))["failure"]
    assert (failure["reason"], failure["attempts"]) == ("http_503", 6)
    ledgers = [d["decision"]["after"] for d in await hand.data_of(id_, "step_retry")]
    assert [(one["counted"], one["polls"]) for one in ledgers] == [(0, 1), (1, 1), (1, 2), (2, 2), (2, 3)]
    assert await decisions_made_again(hand, id_) == 6


async def test_a_condition_that_breaks_fails_the_step_and_says_why(hand):
    id_ = await hand.submit(polling("result.count > 3"))
    assert (await hand.succeed(await hand.lease_one(), {"count": [1]})).verdict == "fail"
    failure = (await hand.get(id_))["failure"]
    assert (failure["class"], failure["reason"]) == ("invalid", "template_error")
    assert failure["message"].startswith("`until` cannot be evaluated: ")
    [error] = await hand.data_of(id_, "action_error")
    assert error["result"] == {"count": [1]}, "what it gave is not lost"
    assert await decisions_made_again(hand, id_) == 1


@pytest.mark.parametrize(
    ("condition", "polls"),
    [
        ("polls >= 3", 3),
        ("attempt == 2", 1),
        ("elapsed >= 10", 2),
        ("data.state == 'ok'", 0),
        ("status_code == 200", 0),
        ("node_id == 'job' and execution_id > 0", 0),
        ("{{ result.missing == None and polls == 1 }}", 1),
    ],
)
async def test_what_a_condition_sees(hand, condition, polls):
    id_ = await hand.submit(polling(f'"{condition}"'))
    result = {"status_code": 200, "data": {"state": "ok"}}
    for _ in range(polls):
        await poll_once(hand, result)
    assert (await hand.succeed(await hand.lease_one(), result)).verdict == "complete"
    await decisions_made_again(hand, id_)


async def test_the_items_of_a_fan_out_poll_each_for_themselves(hand):
    source = polling("result.done").replace(
        "    until:", "    for_each: [a, b]\n    parallelism: 2\n    until:"
    )
    id_ = await hand.submit(source)
    work = {a.item: a for a in await hand.lease()}
    await hand.succeed(work[0], {"done": False, "page": 7})
    await hand.succeed(work[1], {"done": True})
    assert (await hand.engine.items(id_, "job"))[0].status == "retrying"
    await hand.clock.advance(5)
    await hand.settle_down()
    again = await hand.lease_one()
    assert (again.item, again.spec["args"]["last"]) == (0, {"done": False, "page": 7})
    await hand.succeed(again, {"done": True, "page": 8})
    assert (await hand.get(id_))["result"] == {"job": [{"done": True, "page": 8}, {"done": True}]}
    assert await decisions_made_again(hand, id_) > 0


async def test_a_lost_worker_between_polls_does_not_lose_them(hand):
    id_ = await hand.submit(polling())
    await poll_once(hand, {"done": False, "page": 1})
    await hand.lease_one()
    await hand.wait(31)
    await hand.pass_time(1)
    again = await hand.lease_one("w2")
    assert again.spec["args"]["last"] == {"done": False, "page": 1}
    await hand.succeed(again, {"done": True})
    step = (await hand.get(id_))["steps"]["job"]
    assert (step["counted"], step["polls"]) == (1, 1), "the lost attempt is forgiven"
    assert await decisions_made_again(hand, id_) == 3


# -- vary


async def inputs_of(hand: Hand, id_: int, outcomes: str) -> list[Any]:
    """Plays attempts that fail (f), are lost (l), handed back (r), snoozed (s); and what inputs each had."""
    seen = []
    for kind in outcomes:
        a = await hand.lease_one()
        seen.append(a.spec)
        match kind:
            case "f":
                await hand.fail(a)
            case "l":
                await hand.pass_time(31)
            case "r":
                await hand.hand_back(a)
            case "s":
                await hand.report(a, Outcome("snoozed", after=0))
            case _:
                await hand.succeed(a)
        await hand.settle_down()
    return seen


async def test_each_counted_attempt_has_its_entry_and_the_last_goes_on(hand):
    id_ = await hand.submit(varying("[{}, {args: {model: b}}, {args: {model: c}}]"))
    seen = await inputs_of(hand, id_, "ffff+")
    assert [spec["args"]["model"] for spec in seen] == ["a", "b", "c", "c", "c"]
    started = [d.get("vary") for d in await hand.data_of(id_, "action_started")]
    assert started == [
        None,
        {"entry": 2, "override": {"args": {"model": "b"}}},
        *[{"entry": 3, "override": {"args": {"model": "c"}}}] * 3,
    ]
    shown = (await hand.get(id_))["steps"]["ask"]["attempts"]
    assert [one["vary"] for one in shown] == started
    assert await hand.status(id_) == "completed"


async def test_the_first_entry_is_for_the_first_attempt(hand):
    id_ = await hand.submit(varying("[{args: {model: x}}, {args: {model: y}}]"))
    seen = await inputs_of(hand, id_, "f+")
    assert [spec["args"]["model"] for spec in seen] == ["x", "y"]
    first = (await hand.data_of(id_, "action_started"))[0]
    assert first["vary"] == {"entry": 1, "override": {"args": {"model": "x"}}}


@pytest.mark.parametrize("retry", ["", ", infra_attempts: 2"])
@pytest.mark.parametrize("uncounted", ["l", "r", "s", "lrs"])
async def test_what_is_lost_handed_back_or_snoozed_does_not_move_it_on(hand, uncounted, retry):
    id_ = await hand.submit(varying("[{}, {args: {model: b}}, {args: {model: c}}]", retry=retry))
    seen = await inputs_of(hand, id_, f"{uncounted}f{uncounted}f+")
    n = len(uncounted)
    assert [s["args"]["model"] for s in seen] == ["a"] * (n + 1) + ["b"] * (n + 1) + ["c"]
    assert await hand.status(id_) == "completed"


async def test_mappings_are_merged_at_every_depth_and_lists_are_replaced(hand):
    spec = (
        "type: http, url: 'http://x.test/', method: POST, headers: {a: one, b: two},"
        " json: {deep: {x: 1, y: 2}, list: [1, 2]}"
    )
    vary = "[{}, {headers: {b: three}, json: {deep: {y: 3}, list: [9]}}, {url: 'http://y.test/'}]"
    id_ = await hand.submit(varying(vary, spec=spec))
    first, second, third = await inputs_of(hand, id_, "ff+")
    assert second["headers"] == {"a": "one", "b": "three"}
    assert second["json"] == {"deep": {"x": 1, "y": 3}, "list": [9]}
    assert (second["url"], second["method"]) == ("http://x.test/", "POST")
    assert third == {**first, "url": "http://y.test/"}, "entries do not add up"


async def test_overrides_may_hold_templates(hand):
    id_ = await hand.submit(varying("[{}, {args: {model: '{{ input.m }}-{{ attempt }}'}}]"))
    seen = await inputs_of(hand, id_, "f+")
    assert seen[1]["args"] == {"model": "best-2"}


async def test_the_items_of_a_fan_out_vary_each_for_themselves(hand):
    source = varying(
        "[{}, {args: {model: 'b-{{ item }}'}}]", spec=PYTHON + ", for_each: [x, y], parallelism: 2"
    )
    id_ = await hand.submit(source)
    work = {a.item: a for a in await hand.lease()}
    await hand.fail(work[1])
    await hand.settle_down()
    again = await hand.lease_one()
    assert (again.item, again.spec["args"]) == (1, {"model": "b-y"})
    await hand.succeed(again)
    await hand.succeed(work[0])
    started = [
        (e["item"], e["data"].get("vary")) for e in await hand.events(id_) if e["type"] == "action_started"
    ]
    assert sorted(started, key=str)[:2] == [(0, None), (1, None)]
    assert started[-1] == (1, {"entry": 2, "override": {"args": {"model": "b-{{ item }}"}}})


async def test_a_poll_does_not_move_it_on_and_a_restart_does_not_lose_it(hand):
    source = varying("[{}, {args: {model: b}}]", spec=PYTHON + POLLED)
    await hand.submit(source)
    assert (await poll_once(hand, 0, 1)).spec["args"] == {"model": "a"}
    await hand.fail(await hand.lease_one())
    later = await hand.restarted()
    assert (await poll_once(later, 0, 1)).spec["args"] == {"model": "b"}
    last = await later.lease_one()
    assert last.spec["args"] == {"model": "b"}
    assert (await later.succeed(last, 1)).verdict == "complete"


@pytest.mark.parametrize("lost", ["item", "none"])
async def test_a_rebuilt_item_still_knows_its_entry_and_what_it_polled(hand, lost):
    source = varying("[{}, {args: {model: 'b-{{ previous }}'}}]", spec=PYTHON + POLLED)
    id_ = await hand.submit(source)
    await poll_once(hand, 7, 1)
    await hand.fail(await hand.lease_one())
    if lost == "item":
        await hand.sql("delete from tenax.item")
        assert await hand.engine.recover() == [id_]
    again = await hand.lease_one()
    assert (again.attempt, again.spec["args"]) == (3, {"model": "b-7"})
    assert (await hand.events(id_))[-1]["data"]["vary"]["entry"] == 2


async def test_failures_stay_failures_of_the_step_that_varies(hand):
    """With every entry tried and failed, the record says which one each attempt had."""
    id_ = await hand.submit(varying("[{}, {args: {model: b}}]").replace("max_attempts: 5", "max_attempts: 2"))
    await hand.fail(await hand.lease_one(), status_code=500)
    await hand.settle_down()
    await hand.report(await hand.lease_one(), Outcome("failed", facts=Facts(status_code=502)))
    execution = await hand.get(id_)
    assert (execution["status"], execution["failure"]["reason"]) == ("failed", "http_502")
    assert [bool(a["vary"]) for a in execution["steps"]["ask"]["attempts"]] == [False, True]


async def test_a_poll_that_is_not_done_when_the_execution_ends_is_not_completed(hand):
    source = """
name: p
workflow:
  - {step: a, type: python, task: "t:t", until: {condition: "result == 1", delay: 5s}}
  - {step: b, type: python, task: "t:t"}
"""
    for result, status, kind in ((0, "failed", "action_polled"), (1, "completed", "action_completed")):
        id_ = await hand.submit(source)
        work = {a.step: a for a in await hand.lease()}
        await hand.fail(work["b"], fatal=True, message="no")
        assert (await hand.succeed(work["a"], result)).verdict == "stop"
        step = (await hand.get(id_))["steps"]["a"]
        assert step["status"] == status
        assert (await hand.types(id_))[-2] == kind
        assert (step["failure"] or {}).get("reason") == (None if result else "execution_ended")
