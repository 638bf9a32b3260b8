"""Tests which worker gets the next item: health, depth, abilities, refusals, suspects, probes."""

from __future__ import annotations

import json
import random
import uuid
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from support.hand import Hand
from support.slow_models.naive_assignment import slow_assign
from support.strategies.scheduling import (
    ask,
    claim_all,
    claim_once,
    know_the_fleet,
    look_anew,
    one_step,
    stand,
    submit_many,
)

from tenax.model.wire import LeaseRequest
from tenax.policy.dispatch.assignment import DEGRADED, HEALTHY, PROBE, Abilities, Candidate, Offer

GPU = one_step("gpu", labels={"gpu": "yes"})


async def shared(hand: Hand, items: int, *requests: LeaseRequest) -> list[int]:
    """Returns how many of these new items each request gets from one claim."""
    await submit_many(hand, items)
    return [len(given) for given in await claim_once(hand.engine, *requests)]


async def test_healthy_by_depth_then_degraded_and_never_unhealthy(hand):
    """A healthy 5, B healthy 20, C degraded 10, D unhealthy 0, as in the contract."""
    await stand(hand, "A", depth=5)
    await stand(hand, "B", depth=20)
    await stand(hand, "C", "degraded", depth=10)
    await stand(hand, "D", "unhealthy")
    await know_the_fleet(hand)
    asking = [ask(name, 100) for name in "DCBA"]
    assert await shared(hand, 1, *asking) == [0, 0, 0, 1]
    assert await shared(hand, 14, *asking) == [0, 0, 0, 14]
    assert await shared(hand, 4, *asking) == [0, 0, 2, 2]
    assert await shared(hand, 210, *asking) == [0, 10, 100, 100]
    assert await shared(hand, 100, *asking[:2]) == [0, 100]
    assert await shared(hand, 1, ask("D")) == [0]


async def test_what_was_given_away_here_counts_before_the_database_is_asked_again(hand):
    await stand(hand, "A")
    await stand(hand, "B")
    await know_the_fleet(hand)
    got: Counter[str] = Counter()
    for _ in range(10):
        a, b = await shared(hand, 1, ask("A"), ask("B"))
        got.update(A=a, B=b)
    assert got == {"A": 5, "B": 5}


async def test_what_ended_here_counts_too(hand):
    await stand(hand, "A")
    await stand(hand, "B", depth=2)
    await know_the_fleet(hand)
    await submit_many(hand, 3)
    mine, _ = await claim_once(hand.engine, ask("A", 3), ask("B", 0))
    assert await shared(hand, 1, ask("A"), ask("B")) == [0, 1]
    for assignment in mine:
        await hand.succeed(assignment)
    assert await shared(hand, 1, ask("A"), ask("B")) == [1, 0]


async def test_a_probe_gets_one_item_before_all_others_and_then_none(hand):
    await stand(hand, "A")
    await stand(hand, "P", "unhealthy", depth=9, probe_at=await hand.clock.now())
    await stand(hand, "Q", "unhealthy", probe_at=None)
    await know_the_fleet(hand)
    asking = [ask("A"), ask("P"), ask("Q")]
    assert await shared(hand, 1, *asking) == [0, 1, 0]
    assert await shared(hand, 2, *asking) == [2, 0, 0]
    await know_the_fleet(hand)
    assert await shared(hand, 1, ask("P")) == [0], "the database knows that it has had it"
    [row] = await hand.sql("select probe_at, probed_at from tenax.worker where name = 'P'")
    assert row["probe_at"] is None
    assert row["probed_at"] == await hand.clock.now()


async def test_a_probe_is_offered_only_when_its_time_has_come_and_only_what_it_can_run(hand):
    await stand(hand, "P", "unhealthy", probe_at=await hand.clock.now() + timedelta(seconds=5))
    await know_the_fleet(hand)
    assert await shared(hand, 1, ask("P")) == [0]
    await hand.clock.advance(5)
    await know_the_fleet(hand)
    assert [len(g) for g in await claim_once(hand.engine, ask("P", runtimes=("http",)))] == [0]
    assert [len(g) for g in await claim_once(hand.engine, ask("P"))] == [1]


@pytest.mark.parametrize("state", ["paused", "draining"])
async def test_who_is_paused_or_drained_gets_nothing_and_others_do(hand, state):
    await stand(hand, "A", state=state)
    await stand(hand, "B", "degraded")
    await know_the_fleet(hand)
    assert await shared(hand, 3, ask("A"), ask("B", 2)) == [0, 2]


async def test_an_earlier_life_gets_nothing(hand):
    old, new = str(uuid.uuid4()), str(uuid.uuid4())
    await stand(hand, "A", life=old)
    await stand(hand, "A", life=new)
    await know_the_fleet(hand)
    assert await shared(hand, 3, ask("A", life=old), ask("A", 2, life=new)) == [0, 2]


async def test_degraded_ones_wait_for_able_healthy_ones_of_any_kind(hand):
    """Workers that are able to run different things look for work apart, and are weighed together."""
    await stand(hand, "sick", "degraded")
    await stand(hand, "plain", depth=3)
    await stand(hand, "strong", depth=7)
    await know_the_fleet(hand)
    asking = [
        ask("sick", 5, labels={"gpu": "yes"}),
        ask("plain", 2),
        ask("strong", 5, labels={"gpu": "yes", "zone": "a"}, queues=("default", "other")),
    ]
    await submit_many(hand, 6)
    assert [len(g) for g in await claim_once(hand.engine, *asking)] == [0, 2, 4]
    await submit_many(hand, 3, GPU)
    assert [len(g) for g in await claim_once(hand.engine, *asking)] == [0, 0, 3]
    await submit_many(hand, 6, GPU)
    assert [len(g) for g in await claim_once(hand.engine, *asking)] == [1, 0, 5]


async def test_what_only_one_can_run_does_not_wait_behind_what_others_found(hand):
    """An older item that one kind of worker is able to run goes before a later one that everyone is."""
    await stand(hand, "gpu", depth=1)
    await stand(hand, "big")
    await know_the_fleet(hand)
    [first] = await submit_many(hand, 1)
    await hand.clock.advance(1)
    [labelled] = await submit_many(hand, 1, GPU)
    await hand.clock.advance(1)
    await submit_many(hand, 20)
    gpu, big = await claim_once(hand.engine, ask("gpu", 1, labels={"gpu": "yes"}), ask("big", 1))
    assert ([a.execution_id for a in gpu], [a.execution_id for a in big]) == ([labelled], [first])


async def test_the_longest_waiting_go_first_whatever_kind_they_are(hand):
    """A limited, refused or suspect item keeps its place in the queue. A steady stream of other items does not pass it."""
    await hand.register("w1")
    await hand.register("w2")
    odd = [(await submit_many(hand, 1, one_step("limited", concurrency=5)))[0]]
    refused = (await submit_many(hand, 1))[0]
    [a] = [a for a in await hand.lease() if a.execution_id == refused]
    await hand.hand_back(a, reason="no_handler", detail="none")
    odd.append(refused)
    suspect = (await submit_many(hand, 1))[0]
    await hand.sql("update tenax.item set suspect = true where execution_id = $1", suspect)
    odd.append(suspect)
    await hand.sql(
        "update tenax.item set state = 'queued', worker = null, lease_token = null, expires_at = null, "
        "lease_grant = null, started_at = null where execution_id = $1",
        odd[0],
    )
    await hand.clock.advance(1)
    await submit_many(hand, 50)
    leased = await hand.lease("w2", slots=3)
    assert sorted(a.execution_id for a in leased) == sorted(odd)


async def test_what_a_worker_has_refused_goes_to_the_others_only(hand):
    for name in ("w1", "w2", "w3"):
        await hand.register(name)
    await stand(hand, "w3", "degraded")
    await know_the_fleet(hand)
    ids = await submit_many(hand, 4)
    for name, ours in (("w1", 4), ("w2", 2)):
        await hand.hand_back(*await hand.lease(name, slots=ours), reason="no_handler", detail="none")
    given = await claim_all(hand.engine, ask("w1"), ask("w2"), ask("w3"))
    assert [len(one) for one in given] == [0, 2, 2]
    assert sorted(a.execution_id for one in given for a in one) == ids


async def test_no_worker_runs_two_suspects_and_the_others_are_not_kept_waiting(hand):
    suspects = await submit_many(hand, 60)
    await hand.sql("update tenax.item set suspect = true")
    await hand.clock.advance(1)
    [limited] = await submit_many(hand, 1, one_step("limited", concurrency=3))
    [other] = await submit_many(hand, 1)
    a, b = await claim_all(hand.engine, ask("A", 4), ask("B", 4))
    for given in (a, b):
        assert len([x for x in given if x.execution_id in suspects]) == 1
    assert {x.execution_id for x in a + b} - set(suspects) == {limited, other}
    [mine] = [x for x in a if x.execution_id in suspects]
    await hand.succeed(mine)
    a, b = await claim_all(hand.engine, ask("A", 4), ask("B", 4))
    assert (len(a), len(b)) == (1, 0)


async def test_a_fan_out_with_suspects_in_front_goes_on(hand):
    await hand.submit(one_step("fan_out", for_each=list(range(40)), parallelism=40))
    older = "available_at = available_at - interval '1 s'"
    await hand.sql(f"update tenax.item set suspect = true, {older} where item_no < 10")
    given = await claim_all(hand.engine, ask("A", 10))
    assert Counter(x.item < 10 for x in given[0]) == {True: 1, False: 9}


async def test_what_one_look_saw_does_not_hide_what_came_since(hand):
    """While all slots are filled, one look at the queues serves several claims. What comes is found even so."""
    large = await hand.submit(one_step("fan_out", for_each=list(range(20)), parallelism=1))
    [first] = await hand.lease("other", slots=1)
    look_anew(hand)
    await submit_many(hand, 1)
    assert len(await hand.lease(slots=1)) == 1, "there were only unrestricted items"
    await hand.succeed(first)
    assert [a.execution_id for a in await hand.lease(slots=1)] == [large]


# -- random fleets, against the slow model

LABELS: list[dict[str, str]] = [{}, {}, {"gpu": "yes"}, {"zone": "a"}, {"gpu": "yes", "zone": "a"}]
RANKS = {"healthy": HEALTHY, "degraded": DEGRADED, "unhealthy": PROBE}


async def random_items(hand: Hand, roll: random.Random, *, fan_outs: bool) -> None:
    for n in range(roll.randrange(1, 8)):
        keys: dict[str, Any] = {
            "queue": roll.choice(["default", "default", "slow"]),
            "labels": roll.choice(LABELS),
            "priority": roll.choice([5, 5, 5, 7]),
        }
        if roll.random() < 0.3:
            keys |= {"type": "process", "command": "true"}
        if fan_outs and roll.random() < 0.3:
            keys |= {"for_each": list(range(15)), "parallelism": 15}
        source = one_step(f"w{n}", **keys)
        await submit_many(hand, roll.randrange(1, 6), source)
        await hand.clock.advance(roll.choice([0, 1]))
    for row in await hand.sql("select id from tenax.item where state = 'queued'"):
        refused = roll.sample("ABCDE", roll.choice([0, 0, 0, 1, 2]))
        await hand.sql(
            "update tenax.item set refused_by = $2, suspect = $3 where id = $1",
            row["id"],
            refused or None,
            roll.random() < 0.2,
        )


async def random_fleet(hand: Hand, roll: random.Random) -> tuple[list[LeaseRequest], list[Offer]]:
    """Lease requests, and what they amount to."""
    requests: list[LeaseRequest] = []
    offers: list[Offer] = []
    now = await hand.clock.now()
    for name in "ABCDE":
        health = roll.choice(["healthy", "healthy", "degraded", "unhealthy"])
        depth, probe = roll.randrange(4), roll.random() < 0.5
        await stand(hand, name, health, depth, probe_at=now if health == "unhealthy" and probe else None)
        for _ in range(roll.choice([1, 1, 2])):
            queues = roll.choice([("default",), ("default", "slow"), ("slow",)])
            runtimes = roll.choice([("python",), ("python", "process")])
            request = ask(
                name, roll.randrange(1, 6), queues=queues, runtimes=runtimes, labels=roll.choice(LABELS)
            )
            able = Abilities(frozenset(queues), frozenset(runtimes), request.labels)
            slots = 1 if health == "unhealthy" else request.slots
            if health != "unhealthy" or probe:
                offers.append(Offer(len(requests), able, name, slots, depth, RANKS[health]))
            requests.append(request)
    await know_the_fleet(hand)
    return requests, offers


async def ready_items(hand: Hand) -> list[Candidate]:
    """In the order in which they are to be served, without fan-outs and ageing."""
    rows = await hand.sql(
        "select id, queue, runtime, labels::text, refused_by, suspect from tenax.item "
        "where standing in ('ready', 'restricted') and queue <> 'stock' and available_at <= tenax.now() order by priority desc, available_at, id"
    )
    return [
        Candidate(
            row["id"],
            row["queue"],
            row["runtime"],
            None if row["labels"] is None else json.loads(row["labels"]),
            tuple(row["refused_by"] or ()),
            row["suspect"],
        )
        for row in rows
    ]


async def clear(hand: Hand) -> None:
    for table in ("item", "fan", "execution", "worker"):
        await hand.sql(f"delete from tenax.{table}")
    await know_the_fleet(hand)
    look_anew(hand)


@pytest.mark.settings(ageing=0.0)
async def test_one_claim_gives_what_the_slow_model_gives(hand):
    for seed in range(25):
        roll = random.Random(seed)
        requests, offers = await random_fleet(hand, roll)
        await random_items(hand, roll, fan_outs=False)
        expected = slow_assign(await ready_items(hand), offers)
        given = await claim_once(hand.engine, *requests)
        got = {(a.item_id, n) for n, one in enumerate(given) for a in one}
        assert got == set(expected), f"seed {seed}"
        await clear(hand)


async def test_no_work_waits_while_someone_able_is_free(hand):
    for seed in range(100, 120):
        roll = random.Random(seed)
        requests, offers = await random_fleet(hand, roll)
        await random_items(hand, roll, fan_outs=True)
        probes = {offer.request_no for offer in offers if offer.rank == PROBE}
        given = await claim_all(hand.engine, *requests)
        rows = await hand.sql("select distinct worker from tenax.item where suspect and state = 'leased'")
        suspecting = {row["worker"] for row in rows}
        idle = [
            replace(offer, slots=1, suspects=offer.worker in suspecting)
            for offer in offers
            if offer.request_no not in probes
            and len(given[offer.request_no]) < requests[offer.request_no].slots
        ]
        waiting = await ready_items(hand)
        assert slow_assign(waiting, idle) == [], f"seed {seed}"
        await clear(hand)
