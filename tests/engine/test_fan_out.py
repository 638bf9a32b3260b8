"""Fan-outs: order, places, what is tolerated, and what becomes of the rest."""

from __future__ import annotations

import pytest
from fans import RETRY, by_item, counts, each_of, fan, give_up, numbers, placed, told_of
from hand import Hand

from tenax.errors import Conflict, NotFound
from tenax.model.outcome import Facts, Outcome
from tenax.model.wire import Report


def test_results_keep_the_order_of_the_list(play):
    async def scene(hand: Hand):
        id_ = await hand.submit(fan(["a", "b", {"c": [1]}, None], parallelism=4))
        leased = by_item(await hand.lease())
        assert [leased[n].spec["args"] for n in range(4)] == [
            {"x": "a", "at": 0},
            {"x": "b", "at": 1},
            {"x": {"c": [1]}, "at": 2},
            {"x": None, "at": 3},
        ]
        for n in (2, 0, 3, 1):
            await hand.succeed(leased[n], f"result {n}")
        execution = await hand.engine.get(id_)
        assert execution["status"] == "completed"
        assert execution["result"] == {"each": ["result 0", "result 1", "result 2", "result 3"]}
        assert execution["steps"]["each"]["result"] == execution["result"]["each"]

    play(scene)


def test_never_more_at_once_than_there_are_places(play):
    async def scene(hand: Hand):
        id_ = await hand.submit(fan(list(range(8)), parallelism=3))
        held = await hand.lease(slots=20)
        assert numbers(held) == [0, 1, 2]
        started = 3
        while held:
            assert await hand.lease(slots=20) == []
            assert await placed(hand) == (len(held), len(held))
            await hand.succeed(held.pop(0))
            fresh = await hand.lease(slots=20)
            assert numbers(fresh) == ([started] if started < 8 else []), "in the order of the list"
            started += len(fresh)
            held += fresh
        assert await hand.status(id_) == "completed"

    play(scene)


def test_by_default_one_after_the_other(play):
    async def scene(hand: Hand):
        await hand.submit(fan([1, 2, 3]))
        for n in range(3):
            one = await hand.lease_one()
            assert one.item == n
            await hand.succeed(one)

    play(scene)


def test_a_waiting_retry_frees_its_place_and_has_one_before_new_items_when_it_is_due(play):
    async def scene(hand: Hand):
        id_ = await hand.submit(fan([0, 1, 2], retry=RETRY))
        await hand.fail(await hand.lease_one())
        second = await hand.lease_one()
        assert second.item == 1, "its place is free while it waits"
        assert await counts(hand, id_) == {"total": 3, "retrying": 1, "running": 1, "waiting": 1}
        await hand.clock.advance(1)
        await hand.settle_down()
        assert await hand.lease() == [], "it is due, but the only place is taken"
        await hand.succeed(second)
        again = await hand.lease_one()
        assert (again.item, again.attempt, again.is_retry) == (0, 2, True)
        await hand.succeed(again)
        assert (await hand.lease_one()).item == 2

    play(scene)


def test_a_due_retry_takes_a_place_that_is_free(play):
    async def scene(hand: Hand):
        await hand.submit(fan([0, 1], retry=RETRY))
        await hand.fail(await hand.lease_one())
        await hand.fail(await hand.lease_one())
        assert await placed(hand) == (0, 0)
        await hand.clock.advance(1)
        assert await hand.lease() == []
        await hand.settle_down()
        assert await placed(hand) == (1, 1)
        [again] = await hand.lease()
        assert again.item == 0, "the one that was due first"

    play(scene)


def test_each_item_tells_its_own_story_and_the_step_its_own_once(play):
    async def scene(hand: Hand):
        id_ = await hand.submit(fan([0, 1, 2], parallelism=3, tolerate=1, retry={**RETRY, "max_attempts": 2}))
        leased = by_item(await hand.lease())
        await hand.succeed(leased[0], "zero")
        await hand.fail(leased[1])
        await hand.fail(leased[2])
        await hand.clock.advance(1)
        again = by_item(await hand.lease())
        await hand.succeed(again[1], "one")
        await hand.fail(again[2])
        assert await told_of(hand, id_, 0) == [
            ("action_started", 1),
            ("action_completed", 1),
            ("item_completed", None),
        ]
        failed_once = [("action_started", 1), ("action_error", 1), ("step_retry", 1), ("action_started", 2)]
        assert await told_of(hand, id_, 1) == [
            *failed_once,
            ("action_completed", 2),
            ("item_completed", None),
        ]
        assert await told_of(hand, id_, 2) == [
            *failed_once,
            ("action_error", 2),
            ("step_retry_exhausted", 2),
            ("item_failed", 2),
        ]
        assert await told_of(hand, id_, None) == [("step_enqueued", None), ("step_completed", None)]
        events = await hand.engine.events(id_)
        [enqueued] = [e["data"] for e in events if e["type"] == "step_enqueued"]
        assert enqueued == {"items": 3, "parallelism": 3}
        [failed] = [e["data"] for e in events if e["type"] == "item_failed"]
        assert (failed["attempts"], failed["tolerated"]) == (2, True)
        assert (failed["failure"]["reason"], failed["decision"]["verdict"]) == ("http_503", "fail")
        assert [e["data"] for e in events if e["type"] == "item_completed"] == [
            {"attempts": 1},
            {"attempts": 2},
        ]
        [done] = [e["data"] for e in events if e["type"] == "step_completed"]
        assert done["items"] == {"total": 3, "succeeded": 2, "failed": 1}

    play(scene)


def test_an_empty_list_is_complete_at_once(play):
    async def scene(hand: Hand):
        id_ = await hand.submit(fan([], {"step": "after", "needs": ["each"]}))
        after = await hand.lease_one()
        assert after.step == "after"
        await hand.succeed(after)
        execution = await hand.engine.get(id_)
        assert execution["status"] == "completed"
        assert (execution["steps"]["each"]["status"], execution["steps"]["each"]["result"]) == (
            "completed",
            [],
        )
        alone = await hand.engine.get(await hand.submit(fan([])))
        assert (alone["status"], alone["result"]) == ("completed", {"each": []})

    play(scene)


def test_the_list_may_come_from_an_earlier_step_or_hold_templates(play):
    async def scene(hand: Hand):
        first = {"step": "first"}
        id_ = await hand.submit(fan("{{ steps.first.result.rows }}", first, needs=["first"], parallelism=5))
        await hand.succeed(await hand.lease_one(), {"rows": ["{{ not a template }}", 2]})
        leased = by_item(await hand.lease())
        assert [a.spec["args"]["x"] for a in leased.values()] == ["{{ not a template }}", 2], (
            "results are data"
        )
        await hand.engine.cancel(id_, actor="ann")
        mixed = fan(
            ["{{ steps.first.result }}", {"n": "{{ execution_id }}"}], first, needs=["first"], parallelism=5
        )
        id_ = await hand.submit(mixed)
        await hand.succeed(await hand.lease_one(), [7])
        leased = by_item(await hand.lease())
        assert [leased[n].spec["args"]["x"] for n in range(2)] == [[7], {"n": id_}]

    play(scene)


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ({"rows": {"a": 1}}, "it must give a list, not a mapping"),
        ({"rows": "text"}, "it must give a list, not text"),
        ({"rows": None}, "it must give a list, not null"),
        ({}, "`steps.first.result.rows` is not there"),
    ],
)
def test_what_is_not_a_list_fails_the_step_as_invalid_and_says_where(play, result, told):
    source = fan("{{ steps.first.result.rows }}", {"step": "first"}, needs=["first"], retry=RETRY)

    async def scene(hand: Hand):
        id_ = await hand.submit(source)
        await hand.succeed(await hand.lease_one(), result)
        execution = await hand.engine.get(id_)
        failure = execution["failure"]
        assert execution["status"] == "failed"
        assert (failure["class"], failure["reason"], failure["attempts"]) == ("invalid", "template_error", 0)
        assert failure["message"].startswith("`for_each` of step each: ")
        assert told in failure["message"]
        assert await told_of(hand, id_, None) == [("step_failed_terminal", None)]

    play(scene)


@pytest.mark.parametrize(
    ("tolerate", "total", "allowed"),
    [(0, 4, 0), (1, 4, 1), (9, 4, 4), ("50%", 4, 2), ("49%", 4, 1), ("0%", 4, 0), ("100%", 3, 3)],
)
def test_as_many_may_fail_as_are_tolerated(play, tolerate, total, allowed):
    source = fan(list(range(total)), tolerate=tolerate, parallelism=total)

    async def scene(hand: Hand):
        id_ = await hand.submit(source)
        leased = by_item(await hand.lease())
        for n in range(total):
            await (give_up(hand, leased[n]) if n < allowed else hand.succeed(leased[n], n))
        execution = await hand.engine.get(id_)
        assert execution["status"] == "completed"
        assert execution["result"]["each"] == [None] * allowed + list(range(allowed, total))
        assert [f["item"] for f in execution["steps"]["each"]["failures"]] == list(range(allowed))
        if allowed == total:
            return
        id_ = await hand.submit(source)
        leased = by_item(await hand.lease())
        for n in range(allowed + 1):
            await give_up(hand, leased[n])
        assert await hand.status(id_) == "failed"

    play(scene)


def test_beyond_it_the_step_fails_at_once_and_what_runs_is_recorded(play):
    async def scene(hand: Hand):
        after = {"step": "after", "needs": ["each"]}
        id_ = await hand.submit(fan(list(range(9)), after, parallelism=4, tolerate=1, retry=RETRY))
        leased = by_item(await hand.lease())
        await hand.fail(leased[0])
        await give_up(hand, leased[1])
        await give_up(hand, leased[2], "the second")
        execution = await hand.engine.get(id_)
        each = execution["steps"]["each"]
        assert (execution["status"], each["status"]) == ("failed", "failed")
        assert each["failure"]["message"] == "2 of 9 items failed, 1 tolerated; the last: the second"
        assert execution["failure"]["step"] == "each"
        assert execution["steps"]["after"]["status"] == "unreachable"
        cancelled = [e for e in await hand.engine.events(id_) if e["type"] == "item_cancelled"]
        assert [(e["item"], e["data"]["was"]) for e in cancelled] == [
            (0, "retrying"),
            (4, "queued"),
            (5, "queued"),
            (None, "waiting"),
        ]
        assert cancelled[-1]["data"] == {"was": "waiting", "count": 3, "items": [[6, 8]]}
        assert await hand.lease() == []
        assert await counts(hand, id_) == {"total": 9, "running": 1, "failed": 2, "cancelled": 6}
        assert (await hand.succeed(leased[3], "made it")).verdict == "stop"
        assert await counts(hand, id_) == {"total": 9, "succeeded": 1, "failed": 2, "cancelled": 6}
        assert (await told_of(hand, id_, 3))[-1] == ("item_completed", None)
        listed = {i["item"]: (i["status"], i["result"]) for i in await hand.engine.items(id_, "each")}
        assert listed == {1: ("failed", None), 2: ("failed", None), 3: ("succeeded", "made it")}
        assert await hand.sql("select from tenax.item") == []

    play(scene)


def test_what_runs_when_the_step_has_failed_is_not_retried_and_not_late(play):
    async def scene(hand: Hand):
        id_ = await hand.submit(fan([0, 1, 2], parallelism=3, retry=RETRY))
        leased = by_item(await hand.lease())
        await give_up(hand, leased[0])
        answer = await hand.fail(leased[1])
        assert (answer.status, answer.verdict) == ("applied", "stop")
        await hand.pass_time(31)
        await hand.engine.reap()
        assert (await hand.succeed(leased[2])).status == "late", "its lease was over"
        types = await hand.types(id_)
        assert types.count("item_failed") == 3
        assert types[-1] == "late_result"
        assert await hand.sql("select from tenax.item") == []

    play(scene)


def test_later_steps_see_results_and_failures(play):
    after = {
        "step": "after",
        "needs": ["each"],
        "when": "{{ steps.each.failures | length == 1 }}",
        "args": {
            "all": "{{ steps.each.result }}",
            "failed": "{{ steps.each.failures }}",
            "why": "{{ steps.each.failures[0].message }}",
            "status": "{{ steps.each.status }}",
        },
    }

    async def scene(hand: Hand):
        await hand.submit(fan([0, 1, 2], after, parallelism=3, tolerate=1))
        leased = by_item(await hand.lease())
        await hand.succeed(leased[2], {"n": 2})
        await give_up(hand, leased[1], "broken")
        await hand.succeed(leased[0], None)
        seen = (await hand.lease_one()).spec["args"]
        assert seen["all"] == [None, None, {"n": 2}]
        [failed] = seen["failed"]
        assert {name: failed[name] for name in ("item", "class", "message", "attempts")} == {
            "item": 1,
            "class": "logical",
            "message": "broken",
            "attempts": 1,
        }
        assert (seen["why"], seen["status"]) == ("broken", "completed")

    play(scene)


def test_until_polls_each_item_by_itself_and_leaves_its_place_meanwhile(play):
    until = {"condition": "{{ result.done }}", "delay": "5s"}

    async def scene(hand: Hand):
        source = fan([0, 1], until=until, args={"x": "{{ item }}", "last": "{{ previous }}"})
        id_ = await hand.submit(source)
        await hand.succeed(await hand.lease_one(), {"done": False, "page": 1})
        one = await hand.lease_one()
        assert (one.item, one.spec["args"]["last"]) == (1, None)
        await hand.succeed(one, {"done": True})
        assert await hand.lease() == []
        await hand.clock.advance(5)
        await hand.settle_down()
        again = await hand.lease_one()
        assert (again.item, again.spec["args"]["last"]) == (0, {"done": False, "page": 1})
        assert again.is_retry is False
        await hand.succeed(again, {"done": True, "page": 2})
        assert (await hand.engine.get(id_))["result"] == {"each": [{"done": True, "page": 2}, {"done": True}]}

    play(scene)


def test_two_fan_outs_that_end_in_one_batch(play):
    other = {"step": "other", "for_each": [1, 2], "parallelism": 2}

    async def scene(hand: Hand):
        id_ = await hand.submit(fan([1], other))
        reports = []
        for a in await hand.lease():
            outcome = (
                Outcome("succeeded")
                if a.step == "each"
                else Outcome("failed", facts=Facts(fatal=True, message="no"))
            )
            reports.append(Report(a.execution_id, a.item_id, a.attempt, a.token, outcome, a.step))
        answers = await hand.engine.report(sorted(reports, key=lambda r: str(r.step)))
        assert [answer.verdict for answer in answers] == ["complete", "fail", "fail"]
        execution = await hand.engine.get(id_)
        assert {name: s["status"] for name, s in execution["steps"].items()} == {
            "each": "completed",
            "other": "failed",
        }

    play(scene)


def test_a_fan_out_whose_last_items_end_after_the_execution_has_ended_too(play):
    async def scene(hand: Hand):
        id_ = await hand.submit(fan([0, 1], {"step": "beside"}, parallelism=2))
        leased = {(a.step, a.item): a for a in await hand.lease()}
        await give_up(hand, leased["beside", None])
        assert (await each_of(hand, id_))["status"] == "running"
        await give_up(hand, leased["each", 0])
        await hand.succeed(leased["each", 1])
        each = await each_of(hand, id_)
        assert each["status"] == "failed"
        assert each["failure"]["message"] == "1 of 2 items failed; the last: no"
        assert (await hand.types(id_))[-1] == "step_failed_terminal"

    play(scene)


def test_a_fan_out_that_begins_as_the_execution_fails_leaves_nothing(play):
    doomed = {"step": "doomed", "when": "{{ input.x > 'y' + 1 }}"}

    async def scene(hand: Hand):
        top = {"input": {"x": {"type": "integer", "default": 1}}}
        id_ = await hand.submit(fan([0, 1, 2], doomed, top=top, parallelism=2))
        execution = await hand.engine.get(id_)
        assert (execution["status"], execution["failure"]["step"]) == ("failed", "doomed")
        assert execution["steps"]["each"]["status"] == "cancelled"
        assert await counts(hand, id_) == {"total": 3, "cancelled": 3}
        assert await told_of(hand, id_, None) == [("step_enqueued", None), ("item_cancelled", None)]
        assert await hand.lease() == []
        assert await hand.sql("select from tenax.item") == []
        assert await hand.sql("select from tenax.fan") == []

    play(scene)


def test_two_thousand_items_are_counted_in_the_tables(play):
    async def scene(hand: Hand):
        id_ = await hand.submit(fan(list(range(2000)), parallelism=50, retry=RETRY, tolerate=1))
        held = await hand.lease(slots=50)
        leased = by_item(held)
        await give_up(hand, leased[0])
        await hand.fail(leased[1])
        await hand.engine.report(
            [
                Report(a.execution_id, a.item_id, a.attempt, a.token, Outcome("succeeded", a.item), a.step)
                for a in held[2:40]
            ]
        )
        assert await counts(hand, id_) == {
            "total": 2000,
            "failed": 1,
            "retrying": 1,
            "succeeded": 38,
            "running": 10,
            "queued": 40,
            "waiting": 1910,
        }
        assert (await each_of(hand, id_))["status"] == "running"
        page = await hand.engine.items(id_, "each", limit=3)
        assert [(i["item"], i["status"], i["attempt"], i["result"]) for i in page] == [
            (0, "failed", 1, None),
            (1, "retrying", 1, None),
            (2, "succeeded", 1, 2),
        ]
        assert page[0]["failure"]["message"] == "no"
        assert page[1]["last_error"] == "503 Service Unavailable"
        running = await hand.engine.items(id_, "each", states=["running"], after=44, limit=100)
        assert [(i["item"], i["worker"], i["max_attempts"]) for i in running] == [
            (n, "w1", 3) for n in range(45, 50)
        ]
        with pytest.raises(NotFound, match="eachh"):
            await hand.engine.items(id_, "eachh")
        await hand.engine.cancel(id_, actor="ann")
        assert await counts(hand, id_) == {"total": 2000, "failed": 1, "succeeded": 38, "cancelled": 1961}

    play(scene)


def test_items_of_a_step_that_is_none_are_refused(play):
    async def scene(hand: Hand):
        with pytest.raises(Conflict, match="for_each"):
            await hand.engine.items(await hand.submit(), "only")

    play(scene)
