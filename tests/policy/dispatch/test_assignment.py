"""Tests which worker gets which item, by tables and against slow, obvious models."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.slow_models.naive_assignment import slow_assign

from tenax.policy.dispatch.assignment import (
    DEGRADED,
    HEALTHY,
    PROBE,
    Abilities,
    Candidate,
    ItemLimit,
    Offer,
    admit,
    assign,
    order_slots,
)

ANY = Abilities(frozenset({"default"}), frozenset({"python"}))


def offers(*rows: tuple[str, int, int, int]) -> list[Offer]:
    """Rows of worker, rank, depth and free slots."""
    return [
        Offer(no, ANY, worker, slots, depth, rank) for no, (worker, rank, depth, slots) in enumerate(rows)
    ]


def items(count: int) -> list[Candidate]:
    return [Candidate(n, "default", "python") for n in range(count)]


def served(asking: list[Offer], count: int) -> str:
    """The workers that get `count` items that any of them can run, in order."""
    by_slots = order_slots(asking, count)
    assert [no for _, no in assign(items(count), asking)] == by_slots
    worker = {offer.request_no: offer.worker for offer in asking}
    return "".join(worker[no] for no in by_slots)


def test_healthy_by_depth_then_degraded_and_never_unhealthy():
    """A healthy 5, B healthy 20, C degraded 10; D is unhealthy, so that it is not even offered."""
    fleet = offers(("A", HEALTHY, 5, 100), ("B", HEALTHY, 20, 100), ("C", DEGRADED, 10, 100))
    assert served(fleet, 1) == "A"
    assert served(fleet, 15) == "A" * 15
    assert served(fleet, 19) == "A" * 15 + "ABAB"
    every = served(fleet, 1000)
    assert every[:15] == "A" * 15
    assert Counter(every) == {"A": 100, "B": 100, "C": 100}
    assert every[200:] == "C" * 100


@pytest.mark.parametrize(
    ("rows", "order"),
    [
        ([], ""),
        ([("A", HEALTHY, 0, 0)], ""),
        ([("A", HEALTHY, 5, 1), ("B", HEALTHY, 20, 1), ("C", DEGRADED, 10, 1)], "ABC"),
        ([("B", HEALTHY, 20, 1), ("C", DEGRADED, 0, 1), ("A", HEALTHY, 5, 1)], "ABC"),
        ([("A", HEALTHY, 0, 3), ("B", HEALTHY, 0, 3)], "ABABAB"),
        ([("A", HEALTHY, 1, 3), ("B", HEALTHY, 0, 3)], "BABABA"),
        ([("A", HEALTHY, 0, 2), ("P", PROBE, 9, 1), ("B", HEALTHY, 0, 1)], "PABA"),
        ([("A", DEGRADED, 0, 2), ("B", DEGRADED, 1, 2)], "AABB"),
        ([("A", HEALTHY, 0, 2), ("B", HEALTHY, 1, 2), ("A", HEALTHY, 0, 2)], "AABBAA"),
    ],
)
def test_the_order_of_slots(rows, order):
    assert served(offers(*rows), len(order) + 1) == order


@pytest.mark.parametrize(
    ("whole", "limit", "order"),
    [
        ("", 8, "ABCABCAB"),
        ("ABC", 8, "AAABBBCC"),
        ("ABC", 20, "AAABBBCCC"),
        ("B", 8, "ABBBCACA"),
        ("ABC", 2, "AA"),
    ],
)
def test_who_is_served_as_a_whole_has_all_of_its_slots_filled_in_its_turn(whole, limit, order):
    fleet = offers(("A", HEALTHY, 0, 3), ("B", HEALTHY, 0, 3), ("C", HEALTHY, 0, 3))
    asking = [replace(offer, whole=offer.worker in whole) for offer in fleet]
    assert "".join("ABC"[no] for no in order_slots(asking, limit)) == order


def test_who_is_served_as_a_whole_waits_for_those_of_a_better_rank_or_less_depth():
    fleet = offers(("A", DEGRADED, 0, 2), ("B", HEALTHY, 2, 2), ("C", HEALTHY, 0, 2))
    asking = [replace(offer, whole=True) for offer in fleet]
    assert "".join("ABC"[no] for no in order_slots(asking, 6)) == "CCBBAA"


def test_a_limit_of_nothing():
    assert order_slots(offers(("A", HEALTHY, 0, 5)), 0) == []


GPU = Abilities(frozenset({"default", "slow"}), frozenset({"python", "process"}), {"gpu": "yes", "zone": "a"})


@pytest.mark.parametrize(
    ("candidate", "request_no"),
    [
        (Candidate(1, "default", "python"), 0),
        (Candidate(1, "slow", "python"), 1),
        (Candidate(1, "default", "process"), 1),
        (Candidate(1, "default", "http"), None),
        (Candidate(1, "other", "python"), None),
        (Candidate(1, "default", "python", {}), 0),
        (Candidate(1, "default", "python", {"gpu": "yes"}), 1),
        (Candidate(1, "default", "python", {"gpu": "yes", "zone": "a"}), 1),
        (Candidate(1, "default", "python", {"gpu": "yes", "zone": "b"}), None),
        (Candidate(1, "default", "python", {"gpu": "no"}), None),
        (Candidate(1, "default", "python", None, ("plain",)), 1),
        (Candidate(1, "default", "python", None, ("plain", "strong")), None),
        (Candidate(1, "slow", "python", None, ("plain",)), 1),
        (Candidate(1, "default", "python", suspect=True), 1),
    ],
)
def test_an_item_goes_only_to_whom_it_may(candidate, request_no):
    asking = [Offer(0, ANY, "plain", 1, 0, suspects=True), Offer(1, GPU, "strong", 1, 5)]
    assert assign([candidate], asking) == ([] if request_no is None else [(1, request_no)])


def test_a_suspect_has_no_second_one_beside_it():
    suspects = [replace(one, suspect=True) for one in items(4)]
    asking = offers(("A", HEALTHY, 0, 5), ("B", HEALTHY, 9, 5), ("A", HEALTHY, 0, 5))
    assert assign(suspects, asking) == [(0, 0), (1, 1)]
    assert assign([*suspects, *items(1)], asking)[2:] == [(0, 0)]


def test_an_item_that_nobody_can_have_is_left_out_and_the_next_goes_on():
    asking = offers(("A", HEALTHY, 0, 2))
    ready = [Candidate(1, "other", "python"), Candidate(2, "default", "python", None, ("A",)), *items(1)]
    assert assign(ready, asking) == [(0, 0)]


abilities = st.sampled_from(
    [
        ANY,
        GPU,
        Abilities(frozenset({"slow"}), frozenset({"python"}), {"zone": "b"}),
        Abilities(frozenset({"default"}), frozenset({"process"})),
    ]
)
fleets = st.lists(st.tuples(st.sampled_from("ABCDE"), abilities, st.integers(0, 4)), max_size=8)
standing = st.fixed_dictionaries(
    {name: st.tuples(st.integers(0, 5), st.integers(0, 2), st.booleans()) for name in "ABCDE"}
)
ready_items = st.lists(
    st.builds(
        Candidate,
        id=st.just(0),
        queue=st.sampled_from(["default", "slow"]),
        runtime=st.sampled_from(["python", "process"]),
        labels=st.sampled_from([None, None, {}, {"gpu": "yes"}, {"zone": "a"}, {"zone": "b"}]),
        refused_by=st.lists(st.sampled_from("ABCDE"), max_size=2).map(tuple),
        suspect=st.sampled_from([False, False, True]),
    ),
    max_size=20,
).map(lambda ready: [replace(one, id=n + 100) for n, one in enumerate(ready)])


def build(fleet, of_worker) -> list[Offer]:
    """Requests in any order of numbers; all of a worker share its depth, rank and suspects."""
    made = []
    for n, (worker, able, slots) in enumerate(fleet):
        depth, rank, suspects = of_worker[worker]
        made.append(Offer(50 - n, able, worker, slots, depth, rank, suspects))
    return made


@given(fleets, standing, ready_items)
def test_assign_is_the_slow_way_only_faster(fleet, of_worker, ready):
    asking = build(fleet, of_worker)
    assert assign(ready, asking) == slow_assign(ready, asking)


@given(fleets, standing, st.integers(0, 40))
def test_slots_are_ordered_as_items_that_all_can_run_are_assigned(fleet, of_worker, limit):
    asking = [replace(offer, able=ANY) for offer in build(fleet, of_worker)]
    assert order_slots(asking, limit) == [no for _, no in slow_assign(items(limit), asking)]


@given(fleets, standing, ready_items)
def test_no_item_waits_while_someone_able_is_free(fleet, of_worker, ready):
    ready = [replace(one, refused_by=(), suspect=False) for one in ready]
    asking = build(fleet, of_worker)
    given_away = assign(ready, asking)
    taken = Counter(no for _, no in given_away)
    idle = [offer for offer in asking if taken[offer.request_no] < offer.slots]
    left = [one for one in ready if one.id not in dict(given_away)]
    assert all(taken[offer.request_no] <= offer.slots for offer in asking)
    assert assign(left, [replace(offer, slots=1) for offer in idle]) == []


ACTION, KEY = ItemLimit("action", 3), ItemLimit("key", 1)


def limited(*rows: tuple[int, tuple[ItemLimit, ...], str]) -> list[Candidate]:
    """Rows of item, limits and queue."""
    return [Candidate(id_, queue, "python", limits=limits) for id_, limits, queue in rows]


@pytest.mark.parametrize(
    ("wanted", "running", "quotas", "admitted"),
    [
        ([], {}, {}, []),
        ([(1, (), "q"), (2, (), "q")], {}, {}, [1, 2]),
        ([(n, (ACTION,), "q") for n in range(5)], {}, {}, [0, 1, 2]),
        ([(n, (ACTION,), "q") for n in range(5)], {"action": 2}, {}, [0]),
        ([(1, (ACTION,), "q"), (2, (), "q")], {"action": 7}, {}, [2]),
        ([(1, (ACTION, KEY), "q"), (2, (ACTION, KEY), "q"), (3, (ACTION,), "q")], {}, {}, [1, 3]),
        ([(1, (ACTION, KEY), "q"), (2, (ACTION,), "q")], {"action": 2, "key": 1}, {}, [2]),
        ([(1, (ACTION, ACTION), "q"), (2, (ACTION,), "q")], {"action": 1}, {}, [1, 2]),
        ([(1, (ItemLimit("k", 0),), "q")], {}, {}, []),
        ([(n, (), "q") for n in range(3)], {}, {"q": 2}, [0, 1]),
        ([(1, (), "q"), (2, (), "r")], {}, {"q": 0}, [2]),
        ([(1, (KEY,), "q"), (2, (KEY,), "r")], {}, {"q": 0}, [2]),
        ([(1, (KEY,), "q")], {"key": 1}, {"q": 0}, []),
        ([(1, (KEY,), "q"), (2, (), "q")], {"key": 1}, {"q": 1}, [2]),
    ],
)
def test_limits_and_quotas(wanted, running, quotas, admitted):
    before = dict(running), dict(quotas)
    assert [item.id for item in admit(limited(*wanted), running, quotas)] == admitted
    assert (running, quotas) == before


limits = st.lists(st.builds(ItemLimit, st.sampled_from("gh"), st.integers(0, 4)), max_size=2).map(tuple)
wishes = st.lists(st.tuples(limits, st.sampled_from("qr")), max_size=15).map(
    lambda rows: limited(*[(n, *row) for n, row in enumerate(rows)])
)


@given(
    wishes,
    st.dictionaries(st.sampled_from("gh"), st.integers(0, 3)),
    st.dictionaries(st.sampled_from("qr"), st.integers(0, 5)),
)
def test_admission_is_the_slow_way_only_faster(wanted, running, quotas):
    let_in: list[Candidate] = []
    for item in wanted:
        full = False
        for limit in item.limits:
            inside = sum(limit.name in [other.name for other in one.limits] for one in let_in)
            full = full or running.get(limit.name, 0) + inside >= limit.most
        of_queue = sum(one.queue == item.queue for one in let_in)
        if not full and (item.queue not in quotas or of_queue < quotas[item.queue]):
            let_in.append(item)
    assert admit(wanted, running, quotas) == let_in
