"""Bulk jobs that redrive dead letters: each once, with a rate and a canary, and those of a fan-out together."""

from __future__ import annotations

from typing import Any

import pytest
from support.fan_out_workflows import fan, give_up
from support.hand import Hand, one_postgres
from support.laws import verify
from support.letters import failed, letters, quarantined, tolerated

from tenax.engine.bulk import redrive as redrive_module
from tenax.engine.bulk import runner as runner_module
from tenax.errors import Busy, UsageError
from tenax.model.filters.letters import LetterFilter
from tenax.model.filters.parse import parse_letter_filter

pytestmark = one_postgres

ONCE = 'name: once\nworkflow: [{step: only, type: python, task: "t:t", retry: false}]\n'


def chosen(text: str) -> LetterFilter:
    return LetterFilter(terms=parse_letter_filter(text))


async def started(hand: Hand, text: str, **more: Any) -> int:
    jobs = hand.engine.bulk
    job = await jobs.redrive_letters(chosen(text), **{"reason": "mended", "actor": "ann", **more})
    await jobs.start(job.id, actor="bob")
    return job.id


async def work(hand: Hand) -> int:
    return (await hand.engine.bulk_runner.work())[1]


async def finish(hand: Hand) -> None:
    while await work(hand):
        pass


async def counts(hand: Hand, job_id: int) -> tuple[str, int, int, int, int]:
    job = await hand.engine.bulk.get(job_id)
    return (job.state, job.counts.pending, job.counts.done, job.counts.skipped, job.counts.failed)


async def test_a_preview_shows_the_letters_and_does_nothing(hand):
    ids = [await failed(hand, ONCE) for _ in range(3)]
    job = await hand.engine.bulk.redrive_letters(
        chosen("workflow=once since=1h"), reason="mended", actor="ann"
    )
    assert (job.action, job.state, job.total) == ("redrive", "preview", 3)
    assert [(one.id, one.step, one.reason, one.letter is not None) for one in job.sample] == [
        (id_, "only", "reported_failure", True) for id_ in ids
    ]
    assert job.filter.startswith("status=open workflow=once since=2"), "its times are fixed"
    assert [row["status"] for row in await letters(hand)] == ["open"] * 3


async def test_each_letter_of_a_group_is_redriven_once(hand):
    ids = [await failed(hand, ONCE) for _ in range(4)]
    other = await failed(hand, ONCE.replace("once", "other"), message="other")
    [group] = {row["fingerprint"] for row in await letters(hand) if row["workflow"] == "once"}
    job_id = await started(hand, f"fingerprint={group}")
    await finish(hand)
    assert await counts(hand, job_id) == ("completed", 0, 4, 0, 0)
    assert [await hand.status(id_) for id_ in (*ids, other)] == ["running"] * 4 + ["failed"]
    [who] = await hand.data_of(ids[0], "operator_action")
    assert who == {"action": "retry", "actor": "bob", "reason": "mended", "bulk": job_id}
    for leased in await hand.lease(slots=9):
        await hand.succeed(leased)
    assert [row["status"] for row in await letters(hand)] == ["recovered"] * 4 + ["open"]
    assert (await verify(hand))["violations"] == []


async def test_the_items_of_a_fan_out_start_again_together(hand):
    """Each start reads the events of the execution: done for each item, a large fan-out would take hours."""
    id_ = await hand.submit(fan(list(range(20)), tolerate=19, parallelism=20, retry=False))
    for leased in sorted(await hand.lease(slots=20), key=lambda one: one.item or 0):
        await give_up(hand, leased, "no")
    assert await hand.status(id_) == "failed"
    job_id = await started(hand, "step=each")
    assert await work(hand) == 20
    assert await counts(hand, job_id) == ("running", 0, 20, 0, 0)
    assert await hand.counts(id_, "execution_reopened", "operator_action") == (1, 20)
    asked = await hand.events_of(id_, "operator_action")
    assert [one["item"] for one in asked] == list(range(20))
    leased = await hand.lease(slots=30)
    assert sorted(one.item for one in leased) == list(range(20))
    for one in leased:
        await hand.succeed(one, one.item)
    assert await hand.status(id_) == "completed"
    assert (await verify(hand))["violations"] == []


async def test_letters_of_a_fan_out_that_still_runs_are_redriven(hand):
    """Some items are quarantined and live, others have ended: they cannot start again by one action."""
    id_ = await hand.submit(fan([1, 2, 3], tolerate=2, parallelism=3, retry=False))
    one, two, three = sorted(await hand.lease(slots=3), key=lambda a: a.item or 0)
    await give_up(hand, one, "no")
    await give_up(hand, two, "no")
    job_id = await started(hand, f"execution={id_}")
    await finish(hand)
    assert await counts(hand, job_id) == ("completed", 0, 2, 0, 0)
    for leased in [three, *await hand.lease(slots=3)]:
        await hand.succeed(leased, 1)
    assert await hand.status(id_) == "completed"
    assert (await verify(hand))["violations"] == []


async def test_what_cannot_be_redriven_is_skipped_with_its_reason(hand):
    await tolerated(hand)
    [gone, put_aside, redriven] = [await failed(hand, ONCE) for _ in range(3)]
    numbers = {
        row["execution_id"]: row["item_id"]
        for row in await letters(hand, "execution_id, item_id, step, item_no, compensates")
    }
    jobs = hand.engine.bulk
    job = await jobs.redrive_letters(chosen("status=open"), reason="mended", actor="ann")
    await hand.engine.letters.discard([numbers[put_aside]], actor="eve", note="no")
    await hand.engine.letters.redrive([numbers[redriven]], actor="eve")
    await jobs.start(job.id, actor="ann")
    await finish(hand)
    assert await counts(hand, job.id) == ("completed", 0, 1, 3, 0)
    notes = {one.letter: one.note for one in (await jobs.get(job.id)).problems}
    assert notes[numbers[put_aside]] == "the letter is discarded by now"
    assert notes[numbers[redriven]] == "the letter is redriven by now"
    assert any("tolerated" in note for note in notes.values())
    assert await hand.counts(redriven, "operator_action") == (1,)
    assert await hand.status(gone) == "running"


async def test_a_letter_that_only_its_execution_refuses_does_not_keep_the_others_back(hand):
    """One item of the group has gone on since the letters were read."""
    id_ = await hand.submit(fan([1, 2, 3, 4], tolerate=1, parallelism=4, retry=False))
    for leased in await hand.lease(slots=4):
        await give_up(hand, leased, "no")
    job_id = await started(hand, "step=each")
    [gone, kept] = [row["item_no"] for row in await letters(hand, "item_no, execution_id, step, compensates")]
    await hand.act(id_, "resolve", step="each", item=gone, reason="by hand")
    await hand.sql("update tenax.dead_letter set status = 'open' where item_no = $1", gone)
    await finish(hand)
    assert await counts(hand, job_id) == ("completed", 0, 1, 1, 0)
    assert (await hand.events_of(id_, "operator_action"))[-1]["item"] == kept


async def test_a_letter_whose_execution_is_locked_for_too_long_is_tried_again(hand, monkeypatch):
    locked = await failed(hand, ONCE)
    await failed(hand, ONCE)
    start_again = redrive_module.start_again

    async def waiting(context, group, **more):
        if group[0].letter.execution_id == locked:
            raise Busy("PostgreSQL could not do it in time")
        return await start_again(context, group, **more)

    monkeypatch.setattr(redrive_module, "start_again", waiting)
    job_id = await started(hand, "workflow=once")
    assert await work(hand) == 1
    assert await work(hand) == 0
    assert await counts(hand, job_id) == ("running", 1, 1, 0, 0)
    monkeypatch.undo()
    await finish(hand)
    assert await counts(hand, job_id) == ("completed", 0, 2, 0, 0)


async def test_a_quarantined_item_is_released(hand):
    await quarantined(hand)
    job_id = await started(hand, "status=open")
    await finish(hand)
    assert await counts(hand, job_id) == ("completed", 0, 1, 0, 0)
    await hand.succeed(await hand.lease_one("good"))
    assert [row["status"] for row in await letters(hand)] == ["recovered"]


async def test_a_canary_that_fails_stops_the_job_and_says_so(hand):
    for _ in range(12):
        await failed(hand, ONCE)
    job_id = await started(hand, "workflow=once", canary=4, max_failed=25.0)
    assert [await work(hand), await work(hand)] == [4, 0]
    leased = await hand.lease(slots=9)
    assert len(leased) == 4
    await hand.succeed(leased[0])
    await give_up(hand, leased[1], "no")
    assert await work(hand) == 0
    assert (await counts(hand, job_id))[0] == "running", "a quarter may fail"
    await give_up(hand, leased[2], "no")
    await work(hand)
    job = await hand.engine.bulk.get(job_id)
    assert (job.state, job.canary_state, job.counts.done, job.counts.pending) == ("stopped", "failed", 4, 8)
    assert job.note == "its canary failed: 2 of 4 dead letters failed (50 %), and 25 % may"
    await hand.succeed(leased[3])
    await hand.engine.bulk.resume(job_id, actor="ann")
    await finish(hand)
    assert await counts(hand, job_id) == ("completed", 0, 12, 0, 0)
    assert (await verify(hand))["violations"] == []


async def test_a_canary_that_passes_lets_the_rest_go_on(hand):
    for _ in range(5):
        await failed(hand, ONCE)
    job_id = await started(hand, "workflow=once", canary=2)
    await finish(hand)
    for leased in await hand.lease(slots=9):
        assert await work(hand) == 0
        await hand.succeed(leased)
    await finish(hand)
    assert await counts(hand, job_id) == ("completed", 0, 5, 0, 0)
    assert (await hand.engine.bulk.get(job_id)).canary_state == "passed"


async def test_the_rate_bounds_groups_too(hand):
    await hand.submit(fan(list(range(10)), tolerate=9, parallelism=10, retry=False))
    for leased in await hand.lease(slots=10):
        await give_up(hand, leased, "no")
    job_id = await started(hand, "step=each", rate=2.0)
    done = [await work(hand)]
    for _ in range(4):
        await hand.clock.advance(0.5)
        done.append(await work(hand))
    assert done == [1, 1, 1, 1, 1]
    await hand.clock.advance(60)
    assert await work(hand) == 3, "one second is made up for, and no more"
    assert (await counts(hand, job_id))[2] == 8


async def test_two_servers_redrive_each_letter_once(hand):
    ids = [await failed(hand, ONCE) for _ in range(8)]
    job_id = await started(hand, "workflow=once")
    other = await hand.restarted()
    await work(hand)
    await work(other)
    await finish(hand)
    assert await counts(hand, job_id) == ("completed", 0, 8, 0, 0)
    for id_ in ids:
        assert await hand.counts(id_, "operator_action") == (1,)


async def test_a_stopped_job_marks_none_of_a_group(hand, monkeypatch):
    ids = [await failed(hand, ONCE) for _ in range(3)]
    job_id = await started(hand, "workflow=once")
    redrive = runner_module.redrive_items

    async def stopped_before(context, job, items):
        await hand.engine.bulk.stop(job_id, actor="eve")
        return await redrive(context, job, items)

    monkeypatch.setattr(runner_module, "redrive_items", stopped_before)
    await work(hand)
    assert await counts(hand, job_id) == ("stopped", 3, 0, 0, 0)
    assert [await hand.status(id_) for id_ in ids] == ["failed"] * 3


@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        ("", {}, "the filter is empty"),
        ("status=failed", {}, "`status` is never 'failed'"),
        ("workflow=x", {"reason": " "}, "needs a reason"),
        ("workflow=x", {"step": "a"}, "redrive takes no `step`"),
    ],
)
async def test_what_is_refused(hand, text, more, said):
    with pytest.raises(UsageError) as caught:
        await hand.engine.bulk.create_of_text("redrive", text, **{"reason": "why", "actor": "ann", **more})
    assert said in caught.value.message
    assert await hand.engine.bulk.list() == []


async def test_one_filter_language_selects_letters(hand):
    source = 'name: sync-a\ninput: {n: {type: integer, default: 0}}\nworkflow: [{step: only, type: python, task: "t:t", retry: false}]\n'
    ids = [
        await failed(hand, source, input={"n": n}, key=f"k{n}", message=f"case {n} refused") for n in range(3)
    ]

    async def found(text: str) -> list[int]:
        return sorted(one.execution_id for one in await hand.engine.letters.list(chosen(text)))

    assert await found("workflow=sync-*") == ids
    assert await found("-workflow=sync-*") == []
    assert await found("input.n=1,2 class=logical") == ids[1:]
    assert await found("key=k0") == ids[:1]
    assert await found('text="case 2"') == ids[2:]
    assert await found(f"execution={ids[1]}") == ids[1:2]
    assert await found("parent=none reason=reported* step=only since=1h until=2100-01-01T00:00:00Z") == ids
    assert await found("status=discarded") == []
    assert await found("status!=open") == []
    assert await found("queue=default") == [], "the items have ended"
    for group in await hand.engine.letters.groups(chosen("text=case")):
        assert group.count == 3
