"""Tests that items that kill their workers are quarantined, and do not count against the workers.

Workers on which many items die are drained.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from support.compensation_workflows import compensation_of, failed_at_b, standing
from support.fan_out_workflows import counts, each_of, fan, told_of
from support.hand import EXHAUSTED, Hand
from support.worker_lives import PATIENT, arrive, crash, crash_often, fleet_events, health, live, take

from tenax.engine.engine import Engine
from tenax.model.attempt.outcome import Facts, Failure, Outcome
from tenax.model.decision import Controls
from tenax.model.fleet.health import SERVER_ACTOR
from tenax.model.policy import Policy
from tenax.policy.retry.decide import replay
from tenax.policy.retry.resolve import compile_policy

CREW = ("good", "a", "b", "c", "d")
STUBBORN = {"max_attempts": "unlimited", "backoff": "none"}


async def killed(hand: Hand, *workers: str, slots: int = 1) -> None:
    """Each of these takes what there is and falls silent over it; then it comes back."""
    for worker in workers:
        assert await hand.lease(worker, slots=slots), f"there is nothing for {worker}"
        await live(hand, 30, *(name for name in CREW if name != worker))
        await live(hand, 1, *CREW)


async def quarantined(hand: Hand, source: str = PATIENT) -> int:
    """An item that has cost a, b and c their lease."""
    await arrive(hand, "good", "a", "b", "c")
    id_ = await hand.submit(source)
    await killed(hand, "a", "b", "c")
    return id_


async def item_row(hand: Hand) -> dict:
    [row] = await hand.sql("select state, attempt, expires_at, ledger, stopped_by from tenax.item")
    return dict(row)


async def losses(hand: Hand, *workers: str) -> list[int]:
    return [(await hand.engine.worker(name)).losses for name in workers]


async def test_an_item_that_costs_three_different_workers_their_lease_is_quarantined(hand):
    id_ = await quarantined(hand)
    assert (await hand.types(id_))[-3:] == ["action_started", "lease_expired", "retry_held"]
    assert await hand.lease("good") == []
    step = (await hand.get(id_))["steps"]["only"]
    assert (step["status"], step["attempt"], step["unserved"]) == ("held", 3, None)
    assert step["held"]["rule"] == "poison"
    assert (step["held"]["item"], step["held"]["lost_by"]) == (None, ["a", "b", "c"])
    assert "it has cost 3 workers their lease (a, b, c)" in step["held"]["reason"]
    [held] = await hand.events_of(id_, "retry_held")
    row = await item_row(hand)
    assert row["expires_at"] is not None
    [at] = await hand.sql("select at from tenax.event where type = 'retry_held' and execution_id = $1", id_)
    assert row["expires_at"] == at["at"] + timedelta(days=1)
    assert held["data"]["decision"]["after"]["lost_by"] == ["a", "b", "c"]


async def test_the_workers_that_it_cost_are_pardoned(hand):
    await arrive(hand, "good", "a", "b", "c")
    await hand.submit(PATIENT)
    await killed(hand, "a", "b")
    assert await losses(hand, "a", "b") == [1, 1]
    await killed(hand, "c")
    assert await losses(hand, "a", "b", "c") == [0, 0, 0]
    assert [(await health(hand, name))[0] for name in ("a", "b", "c")] == ["healthy"] * 3


async def test_a_worker_that_it_killed_and_that_came_back_at_once_is_pardoned_too(hand):
    await arrive(hand, "good", "a", "b", "c")
    await hand.submit(PATIENT)
    for name in ("a", "b", "c"):
        await crash(hand, name)
        assert await losses(hand, name) == [1]
        await live(hand, 30, "good", "a", "b", "c")
    assert (await item_row(hand))["state"] == "held"
    assert await losses(hand, "a", "b", "c") == [0, 0, 0]


async def test_what_a_pardoned_worker_lost_with_it_a_little_later_is_pardoned_too(hand):
    await arrive(hand, "good", "a", "b", "c")
    await hand.submit(PATIENT)
    await killed(hand, "a", "b")
    await take(hand, "c")
    await hand.clock.advance(5)
    await hand.submit(PATIENT)
    await take(hand, "c")  # its lease is over five seconds after that of the other
    await live(hand, 25, "good", "a", "b")
    assert await losses(hand, "c") == [0]
    await live(hand, 5, "good", "a", "b")
    assert [row["state"] for row in await hand.sql("select state from tenax.item order by id")] == [
        "held", "retrying",
    ]  # fmt: skip
    assert await losses(hand, "a", "b", "c") == [0, 0, 0]


@pytest.mark.settings(drain_after=0)
async def test_the_same_worker_three_times_quarantines_nothing(hand):
    await arrive(hand, "good", "a", "b")
    await hand.submit(PATIENT)
    await killed(hand, "a", "a", "b", "a", "b")
    assert len(await hand.lease("good")) == 1
    assert await losses(hand, "a", "b") == [3, 2]


async def test_of_two_workers_it_takes_both_and_three_losses(hand):
    await arrive(hand, "a", "b")
    id_ = await hand.submit(PATIENT)
    for worker, other, status in (("a", "b", "retrying"), ("b", "a", "retrying"), ("a", "b", "held")):
        assert await hand.lease(worker, slots=1)
        await live(hand, 30, other)
        await live(hand, 1, "a", "b")
        assert (await hand.get(id_))["steps"]["only"]["status"] == status
    assert await losses(hand, "a", "b") == [0, 0]


@pytest.mark.settings(poison_after=0)
async def test_with_quarantine_switched_off_it_goes_on(hand):
    id_ = await quarantined(hand)
    assert (await hand.types(id_))[-1] == "step_retry"
    assert await losses(hand, "a", "b", "c") == [1, 1, 1]


async def test_what_was_lost_beside_it_is_not_quarantined(hand):
    """One of four items kills its worker; the others die with it, at first."""
    await arrive(hand, "good", "a", "b", "c", "d")
    ids = [await hand.submit(PATIENT) for _ in range(4)]
    await killed(hand, "a", "b", slots=4)
    poison, *innocent = ids
    for worker in ("c", "d", "good", "good"):  # now they are suspects: no worker gets two of them
        [assignment] = await hand.lease(worker, slots=4)
        assert await hand.lease(worker, slots=4) == [], "one that runs a suspect gets no other"
        if assignment.execution_id == poison:
            await live(hand, 30, *(name for name in CREW if name != worker))
        else:
            await hand.succeed(assignment)
    assert [await hand.status(id_) for id_ in innocent] == ["completed"] * 3
    assert (await hand.get(poison))["steps"]["only"]["status"] == "held"
    await hand.look()
    assert await losses(hand, "a", "b") == [0, 0]


async def test_a_suspect_runs_beside_what_is_none(hand):
    await arrive(hand, "good", "a", "b")
    await hand.submit(PATIENT)
    await killed(hand, "a", "b")
    for _ in range(3):
        await hand.submit(PATIENT)
    assert len(await hand.lease("good")) == 4


async def test_an_item_whose_attempts_are_used_up_fails_and_its_workers_are_pardoned_all_the_same(hand):
    id_ = await quarantined(hand, PATIENT.replace("unlimited", "3, infra_attempts: 0"))
    assert (await hand.types(id_))[-4:] == ["lease_expired", *EXHAUSTED]
    assert await losses(hand, "a", "b", "c") == [0, 0, 0]


async def test_a_person_releases_it_and_one_more_loss_quarantines_it_again(hand):
    id_ = await quarantined(hand)
    assert (await hand.retry(id_, reason="mended")).steps == ["only"]
    assert (await hand.types(id_))[-3:] == ["operator_action", "retry_released", "retry_rescheduled"]
    step = (await hand.get(id_))["steps"]["only"]
    assert (step["status"], step["held"]) == ("retrying", None)
    assert (await item_row(hand))["expires_at"] is None

    await killed(hand, "a")
    assert (await hand.get(id_))["steps"]["only"]["status"] == "held"
    assert (await hand.types(id_)).count("retry_held") == 2
    await hand.retry(id_)
    await hand.succeed(await take(hand, "good"), "at last")
    assert (await hand.get(id_))["result"] == {"only": "at last"}


async def test_a_person_releases_what_should_have_been_given_up_by_now(hand):
    source = PATIENT.replace("backoff: none", "backoff: none, give_up_after: 2m")
    id_ = await quarantined(hand, source)
    await live(hand, 300, "good")
    await hand.retry(id_, reason="mended")
    assert (await hand.types(id_))[-3:] == ["operator_action", "retry_released", "retry_rescheduled"]
    await hand.succeed(await take(hand, "good"), "at last")
    assert (await hand.get(id_))["result"] == {"only": "at last"}


async def with_poison_after(hand: Hand, limit: int) -> Hand:
    """The next server on this database, with another setting."""
    context = hand.engine.context
    engine = Engine(
        context.database, context.settings.model_copy(update={"poison_after": limit}), roll=context.roll
    )
    await engine.prepare()
    return Hand(engine, hand.clock, hand._lives)


async def check_release(hand: Hand, id_: int, policy: Policy, kind: str) -> None:
    """The decision on the release can be repeated with the same result."""
    [lost] = (await hand.data_of(id_, "lease_expired"))[-1:]
    [told] = (await hand.data_of(id_, kind))[-1:]
    facts = Facts(
        failure_class="worker_lost", reason=lost["failure"]["reason"], message=lost["failure"]["message"]
    )
    record = told["decision"]
    again = replay(
        compile_policy(policy), Outcome("failed", facts=facts), Failure.from_dict(lost["failure"]), record
    )
    assert again.as_dict() == record
    assert record["after"]["counted"] == record["before"]["counted"], "no attempt has ended"


async def test_what_the_setting_would_not_hold_any_more_is_released_and_decided_on_again(hand):
    id_ = await quarantined(hand)
    await hand.engine.sweep()
    assert (await item_row(hand))["state"] == "held"
    later = await with_poison_after(hand, 4)
    await later.engine.sweep()
    assert (await hand.types(id_))[-2:] == ["retry_released", "step_retry"]
    [released] = await hand.data_of(id_, "retry_released")
    assert released["actor"] == SERVER_ACTOR
    assert released["reason"] == "poison_after would not hold it any more"
    await check_release(hand, id_, Policy(max_attempts=None, backoff="none"), "step_retry")
    explained = [one.text for one in await hand.engine.explain(id_)]
    assert any("Attempts: 3 attempts used; none has ended since it was held." in text for text in explained)
    row = await item_row(hand)
    assert (row["state"], row["expires_at"]) == ("retrying", None)
    await hand.succeed(await take(later, "good"), 1)
    assert await hand.status(id_) == "completed"


async def test_what_is_released_by_the_server_after_its_give_up_after_fails(hand):
    source = PATIENT.replace("backoff: none", "backoff: none, give_up_after: 2m")
    id_ = await quarantined(hand, source)
    await live(hand, 120, "good")
    await (await with_poison_after(hand, 0)).engine.sweep()
    assert (await hand.types(id_))[-3:] == ["retry_released", "step_failed_terminal", "execution_failed"]
    [failed] = await hand.data_of(id_, "step_failed_terminal")
    assert (failed["decision"]["rule"], failed["attempt"]) == ("give_up_after", 3)
    assert failed["failure"]["class"] == "worker_lost"
    policy = Policy(max_attempts=None, backoff="none", give_up_after=120.0)
    await check_release(hand, id_, policy, "step_failed_terminal")


async def test_what_is_released_by_the_server_is_not_due_before_its_time(hand):
    source = PATIENT.replace("backoff: none", "backoff: fixed, initial_delay: 4m, jitter: 0")
    await arrive(hand, *CREW)
    id_ = await hand.submit(source)
    for worker in ("a", "b", "c"):
        await killed(hand, worker)
        await live(hand, 10 if worker == "c" else 240, *CREW)
    await (await with_poison_after(hand, 4)).engine.sweep()
    assert (await hand.types(id_))[-2:] == ["retry_released", "step_retry"]
    [held], [retry] = (await hand.data_of(id_, "retry_held"), (await hand.data_of(id_, "step_retry"))[-1:])
    assert retry["available_at"] == held["available_at"]
    assert 0 < retry["delay_seconds"] < 240


async def test_a_released_item_that_fails_otherwise_is_retried_as_any_other(hand):
    id_ = await quarantined(hand)
    await hand.retry(id_)
    await hand.fail(await take(hand, "good"), status_code=503)
    assert (await hand.types(id_))[-1] == "step_retry"


@pytest.mark.settings(max_hold=60.0)
async def test_a_hold_ends_in_a_failure_that_uses_no_attempt(hand):
    id_ = await quarantined(hand)
    await live(hand, 50, "good")
    assert await hand.status(id_) == "running"
    await live(hand, 10, "good")
    assert (await hand.types(id_))[-3:] == ["retry_held", "step_failed_terminal", "execution_failed"]
    [failed] = await hand.data_of(id_, "step_failed_terminal")
    assert failed["decision"]["rule"] == "hold_expired"
    assert failed["attempts"] == 3
    assert failed["failure"]["reason"] == "hold_expired"
    assert failed["decision"]["after"]["counted"] == failed["decision"]["before"]["counted"] == 3
    step = (await hand.get(id_))["steps"]["only"]
    assert (step["status"], step["attempt"], len(step["attempts"])) == ("failed", 3, 3)


@pytest.mark.settings(max_hold=60.0)
async def test_what_was_decided_is_decided_so_again_from_the_log(hand):
    id_ = await quarantined(hand)
    await live(hand, 60, "good")
    policy = compile_policy(Policy(max_attempts=None, backoff="none"))
    [lost] = (await hand.data_of(id_, "lease_expired"))[-1:]
    [held] = await hand.data_of(id_, "retry_held")
    [failed] = await hand.data_of(id_, "step_failed_terminal")
    for failure, record in ((lost["failure"], held["decision"]), (failed["failure"], failed["decision"])):
        facts = Facts(failure_class="worker_lost", reason=failure["reason"], message=failure["message"])
        again = replay(policy, Outcome("failed", facts=facts), Failure.from_dict(failure), record)
        assert again.as_dict() == record
        assert again.controls != Controls()
    texts = [told.text for told in await hand.engine.explain(id_)]
    assert any("Decided by: poison" in text for text in texts)
    assert any("Decided by: hold_expired" in text for text in texts)


async def test_a_held_execution_is_cancelled_as_any_other(hand):
    id_ = await quarantined(hand)
    await hand.engine.cancel(id_, actor="ann")
    assert (await hand.types(id_))[-1] == "execution_cancelled"
    assert await hand.sql("select from tenax.item") == []


# -- in a fan-out, and as a compensation


@pytest.mark.settings(max_hold=60.0)
async def test_in_a_fan_out_the_other_items_go_on(hand):
    await arrive(hand, "good", "a", "b", "c")
    id_ = await hand.submit(fan(["x", "y"], parallelism=1, retry=STUBBORN))
    await killed(hand, "a", "b", "c")  # a retry that is due goes before the next of the list
    last = await take(hand, "good")
    assert last.item == 1
    await hand.succeed(last)
    assert await counts(hand, id_) == {"total": 2, "held": 1, "succeeded": 1}
    step = await each_of(hand, id_)
    assert (step["status"], step["held"]["rule"], step["held"]["items"]) == ("held", "poison", 1)
    assert (await told_of(hand, id_, 0))[-2:] == [("lease_expired", 3), ("retry_held", 3)]
    await live(hand, 60, "good")
    assert (await told_of(hand, id_, 0))[-1] == ("item_failed", 3)
    assert (await hand.types(id_))[-2:] == ["step_failed_terminal", "execution_failed"]


async def test_an_item_of_a_fan_out_is_released(hand):
    id_ = await quarantined(hand, fan(["x"], parallelism=1, retry=STUBBORN))
    assert await counts(hand, id_) == {"total": 1, "held": 1}
    await hand.retry(id_)
    await hand.succeed(await take(hand, "good"), 7)
    assert (await hand.get(id_))["result"] == {"each": [7]}


async def undoing_held(hand: Hand) -> int:
    """The compensation of `a` is in quarantine."""
    await arrive(hand, "good", "a", "b", "c")
    id_ = await failed_at_b(hand, "good")
    await killed(hand, "a", "b", "c")
    assert (await compensation_of(hand, id_, "a"))["status"] == "held"
    return id_


@pytest.mark.settings(max_hold=60.0)
async def test_a_compensation_is_quarantined_and_fails_when_its_hold_is_over(hand):
    id_ = await undoing_held(hand)
    held = (await hand.get(id_))["steps"]["a"]["held"]
    assert (held["rule"], held["lost_by"]) == ("poison", ["a", "b", "c"])
    assert await losses(hand, "a", "b", "c") == [0, 0, 0]
    await live(hand, 60, "good")
    assert (await hand.types(id_))[-3:] == [
        "compensation_failed",
        "execution_compensated",
        "execution_failed",
    ]
    assert await standing(hand, id_) == ("failed", "failed")


async def test_a_compensation_is_released(hand):
    id_ = await undoing_held(hand)
    await hand.retry(id_)
    assert (await compensation_of(hand, id_, "a"))["status"] == "retrying"
    assert (await hand.get(id_))["steps"]["a"]["status"] == "completed"
    await hand.succeed(await take(hand, "good"))
    assert await standing(hand, id_) == ("failed", "completed")


# -- recovery


async def test_a_lost_row_of_a_held_item_comes_back_held_until_the_same_end(hand):
    id_ = await quarantined(hand)
    before = await item_row(hand)
    await hand.sql("delete from tenax.item")
    await hand.clock.advance(100)
    after = await hand.restarted()
    assert await item_row(hand) == before
    assert before["state"] == "held"
    assert await after.lease("good") == []
    await hand.sql("delete from tenax.item")
    assert await after.engine.recover() == [id_], "and so once more"
    assert await item_row(hand) == before
    assert (await after.get(id_))["steps"]["only"]["held"]["rule"] == "poison"
    await after.retry(id_)
    assert (await take(after, "good")).attempt == 4


async def test_a_lost_row_of_a_released_item_comes_back_released(hand):
    id_ = await quarantined(hand)
    await hand.retry(id_)
    await hand.sql("delete from tenax.item")
    assert await hand.engine.recover() == [id_]
    assert (await take(hand, "good")).attempt == 4


async def test_a_lost_row_of_a_held_item_of_a_fan_out_comes_back_held(hand):
    id_ = await quarantined(hand, fan(["x", "y"], parallelism=1, retry=STUBBORN))
    await hand.succeed(await take(hand, "good"))
    before = await item_row(hand)
    assert before["state"] == "held"
    await hand.sql("delete from tenax.item")
    await hand.engine.sweep()
    assert await item_row(hand) == before
    assert await hand.lease("good") == []
    assert await counts(hand, id_) == {"total": 2, "held": 1, "succeeded": 1}


async def test_a_lost_row_of_a_held_compensation_comes_back_held(hand):
    id_ = await undoing_held(hand)
    before = await item_row(hand)
    await hand.sql("delete from tenax.item")
    assert await hand.engine.recover() == [id_]
    assert await item_row(hand) == before
    assert await hand.lease("good") == []
    await hand.retry(id_)
    await hand.sql("delete from tenax.item")
    assert await hand.engine.recover() == [id_]
    assert (await take(hand, "good")).attempt == 4


# -- workers on which many items die


async def test_a_worker_that_is_lost_again_and_again_is_drained_and_others_are_not(hand):
    await arrive(hand, "good", "bad")
    await crash_often(hand, "bad", 4)
    assert (await hand.engine.worker("bad")).state == "active"
    await crash_often(hand, "bad", 1)
    told = await hand.engine.worker("bad")
    assert (told.state, told.state_actor) == ("draining", "tenax:server")
    assert told.state_reason == "it was lost 5 times with work in its hands within 5m"
    assert await fleet_events(hand, "worker_drained", "bad") == [
        {"worker": "bad", "reason": told.state_reason, "losses": 5}
    ]
    assert (await hand.engine.worker("good")).state == "active"
    await hand.submit(PATIENT)
    assert await hand.lease("bad") == []
    answer = await hand.beat(worker="bad")
    assert (answer.state, answer.leave) == ("draining", False), "it stays, and waits to be looked at"
    await live(hand, 600, "good", "bad")
    assert await hand.lease("bad") == [], "no probe either"
    await arrive(hand, "bad")
    assert (await hand.engine.worker("bad")).state == "draining", "nor does a restart help"

    assert await hand.engine.resume_worker("bad", actor="ann") is True
    await hand.look()
    told = await hand.engine.worker("bad")
    assert (told.state, told.losses) == ("active", 0)
    assert len(await hand.lease("bad", slots=1)) == 1
    assert len(await fleet_events(hand, "worker_drained", "bad")) == 1


async def test_another_version_of_a_drained_worker_is_active(hand):
    await arrive(hand, "good", "bad")
    await crash_often(hand, "bad")
    assert (await hand.engine.worker("bad")).state == "draining"
    await arrive(hand, "bad", version="mended")
    await hand.submit(PATIENT)
    told = await hand.engine.worker("bad")
    assert (told.state, told.state_actor, told.state_reason, told.losses) == (
        "active",
        None,
        None,
        0,
    )
    assert len(await hand.lease("bad", slots=1)) == 1


async def test_the_last_able_worker_is_not_drained_until_another_comes(hand):
    await arrive(hand, "other", queues=("mail",))
    await arrive(hand, "bad")
    await crash_often(hand, "bad", 6)
    assert (await hand.engine.worker("bad")).state == "active"
    await arrive(hand, "good")
    assert (await hand.engine.worker("bad")).state == "draining"


async def test_losses_out_of_the_window_do_not_count(hand):
    await arrive(hand, "good", "bad")
    await crash_often(hand, "bad", 4)
    await live(hand, 300, "good", "bad")
    await crash_often(hand, "bad", 1)
    told = await hand.engine.worker("bad")
    assert (told.state, told.losses) == ("active", 1)


@pytest.mark.settings(drain_after=0)
async def test_with_draining_switched_off_it_stays(hand):
    await arrive(hand, "good", "bad")
    await crash_often(hand, "bad", 6)
    assert (await hand.engine.worker("bad")).state == "active"
