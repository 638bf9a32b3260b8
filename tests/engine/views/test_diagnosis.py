"""`explain` names the true cause in its first sentence, for everything that can be stuck."""

from __future__ import annotations

from typing import Any

import pytest
from support.child_workflows import TOP, begun, three_levels
from support.compensation_workflows import CHAIN, failed_at_d
from support.fan_out_workflows import RETRY, fan
from support.hand import ONE_STEP, Hand
from support.strategies.scheduling import know_the_fleet, lease_all, one_step, submit_many
from support.worker_lives import PATIENT, arrive, fail_often, live, take

from tenax.errors import NotFound, UsageError
from tenax.model.attempt.outcome import Outcome, Usage
from tenax.model.diagnosis import Diagnosis

DONE_IN_ORDER = """
name: two
workflow:
  - {step: first, type: python, task: "t:t", retry: {max_attempts: 3, initial_delay: 40, jitter: 0}}
  - {step: second, type: python, task: "t:t", needs: [first]}
"""


async def sentence(hand: Hand, id_: int, **which: Any) -> str:
    return (await hand.engine.diagnose(id_, **which)).sentence


def commands(found: Diagnosis) -> list[str]:
    return [" ".join(remedy.command) for remedy in found.remedies if remedy.command is not None]


async def limit(hand: Hand, **limits: Any) -> None:
    every = {"concurrency": None, "rate": None, "burst": None, **limits}
    await hand.engine.limit_queue("default", **every, actor="me")
    await know_the_fleet(hand)


# -- executions and steps that do not run now


async def test_no_worker_is_live(hand):
    id_ = await hand.submit()
    await hand.clock.advance(7)
    found = await hand.engine.diagnose(id_)
    assert found.sentence == "Step only does not run now: it has been ready for 7s, and no worker is live."
    assert commands(found) == ["worker --queue default"]
    assert [door.door for door in found.doors] == ["worker"]


async def test_its_worker_is_paused(hand):
    await hand.register("w1")
    await hand.engine.pause_worker("w1", actor="ann", reason="night")
    id_ = await hand.submit()
    found = await hand.engine.diagnose(id_)
    assert "no worker that is able to run it takes work: w1 is paused" in found.sentence
    assert commands(found) == ["workers resume w1"]


async def test_no_worker_has_its_labels(hand):
    await hand.register("w1")
    id_ = await hand.submit(one_step(labels={"gpu": "yes"}))
    found = await hand.engine.diagnose(id_)
    assert "has the labels gpu=yes" in found.sentence
    assert commands(found) == ["worker --queue default --label gpu=yes"]


async def test_no_worker_has_its_runtime(hand):
    await hand.register("w1", runtimes=("http",))
    assert "no live worker has the runtime python" in await sentence(hand, await hand.submit())


async def test_a_retry_is_due_later(hand):
    id_, first = await hand.start()
    await hand.fail(first)
    found = await hand.engine.diagnose(id_)
    assert found.sentence == (
        "Step only does not run now: attempt 1 has failed (transient (http_503): 503 Service Unavailable), "
        "and the next one is due in 1s."
    )
    assert found.next == "It goes on in 1s."
    assert commands(found) == [f"retry {id_}"]
    assert "1 counted of 1 attempts; the limit is 3" in found.evidence[-1]


async def test_a_step_behind_it_says_what_the_first_one_waits_for(hand):
    id_, first = await hand.start(DONE_IN_ORDER)
    await hand.fail(first)
    told = await sentence(hand, id_, step="second")
    assert told.startswith(
        "Step second has not begun, because it needs step first. Step first does not run now:"
    )
    assert told.endswith("the next one is due in 40s.")


async def test_it_is_quarantined(hand):
    crew = ("good", "a", "b", "c")
    await arrive(hand, *crew)
    id_ = await hand.submit(PATIENT)
    for worker in ("a", "b", "c"):
        await take(hand, worker)
        await live(hand, 30, *(name for name in crew if name != worker))
        await live(hand, 1, *crew)
    found = await hand.engine.diagnose(id_)
    assert found.sentence.startswith(
        "Step only does not run now: it is quarantined: it has cost 3 workers their lease (a, b, c)"
    )
    assert commands(found) == [f"retry {id_}"]


async def test_it_is_at_a_concurrency_limit(hand):
    await hand.register("w1")
    ids = await submit_many(hand, 2, one_step(concurrency=1))
    await lease_all(hand)
    found = await hand.engine.diagnose(ids[1])
    assert "1 of 1 of `only` run (concurrency)" in found.sentence
    assert commands(found) == [f"show {ids[0]}"]


async def test_its_queue_is_at_its_limit(hand):
    await hand.register("w1")
    await limit(hand, concurrency=1)
    ids = await submit_many(hand, 2)
    await lease_all(hand)
    assert "1 of 1 of the queue default run" in await sentence(hand, ids[1])


async def test_the_rate_of_its_queue_is_used_up(hand):
    await hand.register("w1")
    await limit(hand, rate=0.5, burst=1)
    ids = await submit_many(hand, 2)
    await lease_all(hand)
    assert "the rate of the queue default, 30/m, is used up" in await sentence(hand, ids[1])


async def test_it_is_paused(hand):
    id_ = await hand.submit()
    await hand.engine.pause(id_, actor="ann", reason="the shop moves")
    found = await hand.engine.diagnose(id_)
    assert found.sentence == (
        f"Execution {id_} does not run now: it is paused (by ann: the shop moves), so nothing of it starts."
    )
    assert commands(found) == [f"resume {id_}"]


async def test_it_waits_for_a_signal_and_an_approval(hand):
    id_ = await begun(hand, "name: w\nworkflow: [{step: s, type: wait, signal: go, deadline: 1m}]\n")
    found = await hand.engine.diagnose(id_)
    assert found.sentence == (
        "Step s does not run now: it waits for the signal 'go'; it fails in 1m if nothing comes."
    )
    assert commands(found) == [f"signal {id_} go"]
    id_ = await begun(hand, "name: w\nworkflow: [{step: s, type: wait}]\n")
    found = await hand.engine.diagnose(id_)
    assert "it waits for a person's approval" in found.sentence
    assert commands(found) == [f"approve {id_} s", f"reject {id_} s"]


async def test_it_sleeps(hand):
    id_ = await begun(hand, "name: w\nworkflow: [{step: s, type: sleep, for: 90s}]\n")
    assert await sentence(hand, id_) == "Step s does not run now: it sleeps, and goes on in 1m 30s."


async def test_it_waits_for_a_child_and_the_childs_cause_is_named(hand):
    top, middle, leaf = await three_levels(hand)
    found = await hand.engine.diagnose(top)
    assert found.sentence.startswith(
        f"Step outer does not run now: it waits for its child, execution {middle}."
    )
    assert f"it waits for its child, execution {leaf}." in found.sentence
    assert found.sentence.endswith("and no worker is live.")
    assert commands(found)[0].startswith("worker")
    assert TOP.startswith("name: top")


async def test_the_rest_of_a_fan_out_waits_for_slots(hand):
    await hand.register("w1")
    id_ = await hand.submit(fan(list(range(5)), parallelism=2, retry=RETRY))
    await hand.lease()
    found = await hand.engine.diagnose(id_)
    assert "has ended 0 of 5 items, and 2 run" in found.sentence
    [door] = found.doors
    assert (door.door, door.reason) == (
        "slot",
        "3 of 5 items wait for a slot, and 2 slots are in use (`parallelism`)",
    )
    step = next(iter((await hand.get(id_))["steps"]))
    assert "waits for one of the slots of its step" in await sentence(hand, id_, step=step, item=4)
    assert "runs: attempt 1 on worker w1" in await sentence(hand, id_, step=step, item=0)
    # Nothing was decided on it yet, and that is no error.
    assert await hand.engine.explain(id_, step=step, item=4) == []


async def test_an_item_of_a_paused_queue(hand):
    id_ = await hand.submit(fan(["a", "b"]))
    step = next(iter((await hand.get(id_))["steps"]))
    await hand.engine.pause_queue("default", actor="ann", reason="night")
    await know_the_fleet(hand)
    found = await hand.engine.diagnose(id_, step=step, item=0)
    assert "does not run now: the queue default is paused by ann: night." in found.sentence
    assert commands(found)[0] == "queues resume default"


async def test_it_simply_runs(hand):
    await hand.register("w1")
    id_, _ = await hand.start()
    await hand.clock.advance(3)
    assert await sentence(hand, id_) == (
        f"Execution {id_} goes on: step only runs: attempt 1 on worker w1 for 3s."
    )


# -- what has ended


async def test_a_failure_that_is_not_retried_says_how_to_have_it_retried(hand):
    id_, first = await hand.start()
    await hand.fail(first, status_code=404, message="404 Not Found")
    found = await hand.engine.diagnose(id_)
    assert found.sentence == (
        f"Execution {id_} failed because step only failed: logical (http_404): 404 Not Found. "
        "It is not retried by default; attempt 1 of 3 (2 retries left)."
    )
    assert found.remedies[0].words == "to have this retried: `retry: {retry_on: [http_404]}` in the step"
    assert await sentence(hand, id_, step="only") == found.sentence.partition("because ")[2].replace(
        "step", "Step", 1
    )


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ({"max_attempts": 1}, "to have more attempts: raise `max_attempts` (it is 1)"),
        ({"retryable": False}, "to have this retried: take `retryable: false` out of the step's policy"),
        ({"never_on": ["http_503"]}, "to have this retried: take it out of `never_on: [http_503]`"),
        ({"give_up_after": "1s", "initial_delay": 5}, "to have it tried for longer: raise `give_up_after` (it is 1s)"),
        ({"retry_when": "status_code == 500"}, "to have this retried: change the condition `retry_when: status_code == 500` of the step's policy"),
        ({"stop_when": "status_code == 503"}, "to have this retried: change the condition `stop_when: status_code == 503` of the step's policy"),
        ({"rules": [{"on": ["transient"], "retry": False}]}, "to have this retried: change `rules[0]` of the step's policy"),
    ],
)  # fmt: skip
async def test_each_rule_that_ends_a_step_has_its_remedy(hand, policy, words):
    id_, first = await hand.start(one_step(retry=policy))
    await hand.fail(first)
    found = await hand.engine.diagnose(id_)
    assert found.remedies[0].words == words, found
    assert commands(found) == [f"retry {id_} --step only"]


@pytest.mark.settings(retries_enabled=False)
async def test_retries_are_switched_off(hand):
    id_, first = await hand.start()
    await hand.fail(first)
    found = await hand.engine.diagnose(id_)
    assert "Retries are switched off for the whole server" in found.sentence
    assert "`retries_enabled`" in found.remedies[0].words


async def test_a_step_that_failed_without_an_attempt(hand):
    id_ = await hand.submit("name: w\nworkflow: [{step: s, type: python, task: 't:t', when: '1 / 0'}]\n")
    found = await hand.engine.diagnose(id_)
    assert found.sentence.startswith(
        f"Execution {id_} failed because step s failed before its first attempt: invalid (template_error): `when` of step s"
    )
    assert "correct the expression" in found.remedies[0].words


async def test_what_an_operator_failed_is_not_said_to_have_had_no_attempt(hand):
    """Neither an earlier decision nor the lack of one is its cause."""
    id_, first = await hand.start()
    await hand.fail(first)
    await hand.act(id_, "fail", reason="never mind")
    found = await hand.engine.diagnose(id_)
    assert found.sentence == (
        f"Execution {id_} failed because step only failed: logical (failed_by_operator): ann failed it: never mind."
    )
    # It had failed by itself before, and was tried again.
    id_, first = await hand.start()
    await hand.fail(first, status_code=404)
    await hand.act(id_, "retry")
    await hand.act(id_, "fail", reason="never mind")
    assert (await sentence(hand, id_)).endswith("logical (failed_by_operator): ann failed it: never mind.")


async def test_a_spent_budget_is_not_mended_by_a_retry(hand):
    id_ = await hand.submit(f"budget: {{cost_usd: 1}}\n{DONE_IN_ORDER.lstrip()}")
    await hand.settle_down()
    await hand.report(await hand.lease_one(), Outcome("succeeded", 1, usage=Usage(cost_usd=2.0)))
    await hand.settle_down()
    found = await hand.engine.diagnose(id_)
    assert "budget" in found.sentence
    assert commands(found) == []
    assert "raise `budget` in the workflow file" in found.remedies[0].words


async def test_an_item_that_the_budget_holds_back(hand):
    """It is held before its first attempt, so that the decision is on none."""
    policy = {**RETRY, "attempt_cost": 0.6}
    id_ = await hand.submit(fan([1, 2], parallelism=2, retry=policy, top={"budget": {"cost_usd": 1}}))
    await hand.lease()
    await hand.settle_down()
    found = await hand.engine.diagnose(id_)
    assert "is held until the budget can pay another attempt" in found.sentence
    assert commands(found) == [f"show {id_}"], "a retry by hand asks the budget again"
    held = (await hand.get(id_))["steps"]["each"]["held"]["item"]
    item = await hand.engine.diagnose(id_, step="each", item=held)
    assert commands(item) == [f"show {id_}"]
    [told] = await hand.engine.explain(id_, step="each", item=held)
    assert told.attempt is None
    assert told.text.startswith(f"Step each[{held}], before attempt 1: hold. It waits: an attempt is due")
    assert "Attempts: 0 of 3 attempts used." in told.text


async def test_a_step_that_cannot_run(hand):
    id_, first = await hand.start(DONE_IN_ORDER)
    await hand.fail(first, status_code=404)
    assert await sentence(hand, id_, step="second") == (
        "Step second cannot run, because step first, which it needs, has failed."
    )


async def test_cancelled_completed_and_undone(hand):
    id_ = await hand.submit()
    await hand.engine.cancel(id_, actor="ann", reason="wrong file")
    found = await hand.engine.diagnose(id_)
    assert found.sentence == f"Execution {id_} was cancelled: wrong file."
    assert commands(found) == [f"retry {id_} --new"]
    id_, first = await hand.start(ONE_STEP)
    await hand.succeed(first)
    assert (await sentence(hand, id_)).startswith(f"Execution {id_} completed in ")
    assert await sentence(hand, id_, step="only") == "Step only completed at attempt 1."
    id_ = await failed_at_d(hand, CHAIN)
    assert "and is being undone: the compensation of step" in await sentence(hand, id_)


async def test_a_compensation_that_waits_for_a_retry(hand):
    id_ = await failed_at_d(hand)
    await hand.fail(await hand.lease_one(), message="no such charge")
    found = await hand.engine.diagnose(id_)
    assert found.sentence.endswith(
        "is being undone: the compensation of step c is retrying: attempt 1 has failed "
        "(transient (unclassified): no such charge), and the next one is due in 5s."
    )
    assert found.next == "It goes on in 5s."
    assert commands(found) == [f"retry {id_}", f"cancel {id_}"]
    assert (await sentence(hand, id_, step="c")).startswith(
        "Step c completed at attempt 1. Its compensation is retrying: attempt 1 has failed"
    )


async def test_what_does_not_exist_is_said(hand):
    id_ = await hand.submit()
    with pytest.raises(NotFound, match="has no step 'onyl'; did you mean `only`"):
        await hand.engine.diagnose(id_, step="onyl")
    with pytest.raises(UsageError, match="name the step as well"):
        await hand.engine.diagnose(id_, item=1)
    with pytest.raises(NotFound, match="there is no execution 999"):
        await hand.engine.diagnose(999)


# -- workers that get no work


async def of_worker(hand: Hand, name: str = "w1") -> str:
    return (await hand.engine.diagnose_worker(name)).sentence


async def test_a_worker_without_ready_work(hand):
    await hand.register("w1")
    assert await of_worker(hand) == "Worker w1 gets no work: nothing is ready in its queues (default)."


async def test_a_worker_that_is_able_to_run_none_of_it(hand):
    await hand.register("w1", runtimes=("http",))
    await submit_many(hand, 3)
    assert await of_worker(hand) == (
        "Worker w1 gets no work: 3 items are ready in its queues (default), but it is able to run none of them: "
        "they ask for the runtime python."
    )


async def test_a_worker_that_is_paused_full_unhealthy_or_silent(hand):
    await hand.register("w1", slots=1)
    await hand.engine.pause_worker("w1", actor="ann", reason="night")
    assert await of_worker(hand) == "Worker w1 gets no work: it has been paused for 0s by ann: night."
    await hand.engine.resume_worker("w1", actor="ann")
    id_, _ = await hand.start()
    assert await of_worker(hand) == (
        f"Worker w1 gets no work: all of its slots (1) are in use (the longest: step only of execution {id_})."
    )
    await hand.clock.advance(400)
    assert "its last heartbeat came 6m 40s ago, and after 30s it counts as lost" in await of_worker(hand)


async def test_an_unhealthy_worker(hand):
    await arrive(hand, "good", "w1")
    await submit_many(hand, 12)
    await fail_often(hand, "w1", 12, exception="mylib.Broken", message="broken")
    await hand.look()
    found = await hand.engine.diagnose_worker("w1")
    assert found.sentence.startswith(
        "Worker w1 gets no work: it is unhealthy (consecutive_failures is 12, and 10 is too much); it gets one item as a probe"
    )
    assert commands(found) == ["workers resume w1"]


async def test_a_worker_that_works(hand):
    await hand.register("w1", slots=5)
    await hand.start()
    assert await of_worker(hand) == "Worker w1 gets work: it uses 1 of its 5 slots."
    with pytest.raises(NotFound, match="there are: w1"):
        await hand.engine.diagnose_worker("w2")


# -- queues that do not move


async def of_queue(hand: Hand, name: str = "default") -> str:
    return (await hand.engine.diagnose_queue(name)).sentence


async def test_a_queue_without_workers(hand):
    await submit_many(hand, 2)
    assert await of_queue(hand) == "Queue default does not move: 2 items are ready, and no worker is live."


async def test_a_queue_that_the_live_workers_do_not_serve(hand):
    """The queue has no worker of its own, but it is not true that no worker is live."""
    await hand.register("w1")
    await hand.submit(ONE_STEP.replace("type: python", "type: python\n    queue: slow"))
    found = await hand.engine.diagnose_queue("slow")
    assert found.sentence == (
        "Queue slow does not move: 1 item is ready, and no live worker with the runtime python serves the queue slow."
    )
    assert commands(found) == ["worker --queue slow"]


async def test_a_queue_whose_worker_is_paused(hand):
    await hand.register("w1")
    await hand.engine.pause_worker("w1", actor="me")
    await submit_many(hand, 1)
    found = await hand.engine.diagnose_queue("default")
    assert "w1 is paused" in found.sentence
    assert commands(found) == ["workers resume w1"]


async def test_a_queue_at_its_limits(hand):
    await hand.register("w1", slots=10)
    await limit(hand, concurrency=1)
    await submit_many(hand, 3)
    await lease_all(hand)
    assert await of_queue(hand) == "Queue default does not move: 1 item runs, and its limit is 1."
    await limit(hand, rate=0.5, burst=1)
    await lease_all(hand)
    assert "its rate, 30/m, is used up for now" in await of_queue(hand)


async def test_a_queue_whose_workers_are_full_or_that_only_has_retries(hand):
    await hand.register("w1", slots=1)
    ids = await submit_many(hand, 2, ONE_STEP)
    first = await hand.lease_one("w1", slots=1)
    assert await of_queue(hand) == "Queue default does not move: all slots (1) of its workers are in use."
    await hand.fail(first)
    second = await hand.lease_one("w1", slots=1)
    await hand.succeed(second)
    assert await of_queue(hand) == (
        "Queue default does not move: nothing is ready; 1 item waits for a retry, the first one is due in 1s."
    )
    assert len(ids) == 2


async def test_a_queue_that_moves_and_one_that_is_not_there(hand):
    await hand.register("w1", slots=5)
    await hand.start()
    assert await of_queue(hand) == "Queue default moves: 1 item runs, and 0 are ready."
    with pytest.raises(NotFound, match="did you mean `default`"):
        await hand.engine.diagnose_queue("defualt")
