"""Tests the order in which ready items are served, by tables and against slow, obvious models."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.policy.dispatch.assignment import Candidate
from tenax.policy.dispatch.fair_turns import (
    FairTurns,
    alternate,
    fan_out_turns,
    order_candidates,
    serve_order,
    since_fan_out_after,
    urgency,
)


@pytest.mark.parametrize(
    ("others", "fan_out", "since", "share", "merged"),
    [
        ("", "", 0, 8, ""),
        ("abc", "", 5, 8, "abc"),
        ("", "XYZ", 0, 8, "XYZ"),
        ("abcdefghijklmnop", "XYZ", 0, 8, "abcdefgXhijklmnYopZ"),
        ("abcdefghijklmnop", "XYZ", 7, 8, "XabcdefgYhijklmnZop"),
        ("abcdefghijklmnop", "XYZ", 99, 8, "XabcdefgYhijklmnZop"),
        ("abcdefghijklmnop", "X", 5, 8, "abXcdefghijklmnop"),
        ("ab", "XYZ", 0, 8, "abXYZ"),
        ("abcd", "XY", 0, 2, "aXbYcd"),
        ("abcd", "XY", 0, 1, "XYabcd"),
    ],
)
def test_fan_outs_take_one_of_eight_slots(others, fan_out, since, share, merged):
    row = serve_order([(5.0, 5, one) for one in others], [(5.0, 5, one) for one in fan_out], since, share)
    assert "".join(row) == merged


MANY = "abcdefghi"


@pytest.mark.parametrize(
    ("others", "fan_out", "row"),
    [
        ([(9.0, 9, one) for one in MANY], [(5.0, 5, "X")], "abcdefghiX"),
        ([(5.0, 5, "a"), (5.0, 5, "b")], [(9.0, 9, "X"), (9.0, 9, "Y")], "XYab"),
        ([(9.5, 0, "a"), (5.0, 5, "b")], [(9.0, 9, "X"), (5.0, 5, "Y")], "aXbY"),
        ([(9.0, 9, one) for one in MANY], [(10.0, 0, "X"), (10.0, 0, "Y")], "abcdefgXhiY"),
        ([(9.0, 9, one) for one in MANY], [(9.0, 0, "X")], "abcdefghiX"),
        ([(9.5, 9, one) for one in MANY], [(9.4, 9, "X")], "abcdefghiX"),
    ],
)
def test_a_fan_out_has_its_share_beside_what_is_no_more_urgent_and_goes_first_by_priority(
    others, fan_out, row
):
    assert "".join(serve_order(others, fan_out, 0)) == row


def slow_order(others: list, fan_out: list, since: int, share: int) -> list:
    others, fan_out, row = list(others), list(fan_out), []
    while others or fan_out:
        first = not others or (bool(fan_out) and fan_out[0][1] > others[0][0])
        turn = bool(others and fan_out) and fan_out[0][:2] >= others[0][:2] and since + 1 >= share
        if fan_out and (first or turn):
            row.append(fan_out.pop(0)[2])
            since = 0
        else:
            row.append(others.pop(0)[2])
            since += 1
    return row


ranks = st.lists(st.tuples(st.integers(0, 12).map(float), st.integers(0, 9)), max_size=40).map(
    lambda found: sorted(found, reverse=True)
)


@given(ranks, ranks, st.integers(0, 12), st.integers(1, 10))
def test_the_row_is_that_of_the_slow_way(others, fan_out, since, share):
    other_rows = [(*rank, f"other {n}") for n, rank in enumerate(others)]
    fan_out_rows = [(*rank, f"fan-out {n}") for n, rank in enumerate(fan_out)]
    assert serve_order(other_rows, fan_out_rows, since, share) == slow_order(
        other_rows, fan_out_rows, since, share
    )


@given(st.integers(0, 30), st.integers(0, 12), st.integers(2, 10))
def test_turns_are_counted_as_they_are_taken(slots, since, share):
    plenty = [(5.0, 5, "others")] * slots, [(5.0, 5, "fan_out")] * slots
    row = serve_order(*plenty, since, share)[:slots]
    fan_out = row.count("fan_out")
    assert fan_out_turns(slots, since, share) == fan_out
    after = since_fan_out_after(since, slots - fan_out, fan_out, share)
    capped = min(since, share - 1) + slots
    assert after == (row[::-1].index("fan_out") if fan_out else capped)


@pytest.mark.parametrize(
    ("priority", "waited", "ageing", "urgent"),
    [
        (5, 0.0, 60.0, 5.0),
        (5, 60.0, 60.0, 6.0),
        (0, 600.0, 60.0, 10.0),
        (3, 1e9, 0.0, 3.0),
        (3, -1.0, 60.0, 3.0),
    ],
)
def test_what_waits_becomes_more_urgent(priority, waited, ageing, urgent):
    assert urgency(priority, waited, ageing) == urgent


@pytest.mark.parametrize(
    ("new", "retries", "row"),
    [
        ([], [(5.0, 5, "r")], "r"),
        ([(5.1, 5, "a"), (5.0, 5, "b")], [(5.2, 5, "r"), (5.1, 5, "s")], "rasb"),
        ([(5.3, 5, "a"), (5.0, 5, "b")], [(5.2, 5, "r"), (5.1, 5, "s")], "arbs"),
        ([(5.3, 5, "a"), (5.0, 5, "b"), (5.0, 5, "c")], [(5.2, 5, "r")], "arbc"),
        ([(5.0, 5, "a")], [(9.0, 9, "r"), (9.0, 9, "s")], "rsa"),
        ([(9.0, 9, "a"), (9.0, 9, "b")], [(5.0, 5, "r")], "abr"),
        ([(9.5, 3, "a"), (4.0, 3, "b")], [(9.0, 9, "r"), (5.0, 5, "s")], "arsb"),
    ],
)
def test_new_items_and_retries_of_a_priority_alternate(new, retries, row):
    assert "".join(one for _, _, one in alternate(new, retries)) == row


def item(
    id_: int, waited: float = 0.0, priority: int = 5, lane: int = 0, *, retry: bool = False
) -> Candidate:
    return Candidate(id_, "default", "python", priority=priority, waited=waited, is_retry=retry, lane=lane)


@pytest.mark.parametrize(
    ("found", "since", "order"),
    [
        ([item(2), item(1), item(3, 9.0)], 0, [3, 1, 2]),
        ([item(1, 59.0), item(2, 0.0, 6), item(3, 61.0)], 0, [3, 2, 1]),
        ([item(1, 3.0), item(2, 2.0), item(3, 1.0, retry=True)], 0, [1, 3, 2]),
        ([item(1, lane=7), item(2, lane=7), item(3, lane=4)], 0, [1, 3, 2]),
        ([item(1, 1.0, lane=7), item(2, 2.0, lane=7), item(3, 3.0, 6, lane=4)], 0, [3, 2, 1]),
        ([item(1, lane=7), item(2), item(3)], 0, [2, 3, 1]),
        ([item(1, lane=7), item(2), item(3)], 7, [1, 2, 3]),
        ([item(1, lane=7), item(2, 1.0), item(3)], 7, [2, 1, 3]),
        ([item(1, 0.0, 9, lane=7), item(2, 1.0), item(3)], 0, [1, 2, 3]),
    ],
)
def test_candidates_are_ordered_by_urgency_and_turns(found, since, order):
    assert [one.id for one in order_candidates(found, since, 60.0)] == order


@pytest.mark.parametrize(
    ("turns", "lanes", "after"),
    [
        (FairTurns(3, 7), [], FairTurns(3, 7)),
        (FairTurns(3, 7), [0, 0], FairTurns(5, 7)),
        (FairTurns(3, 7), [0, 9, 0, 0], FairTurns(2, 9)),
        (FairTurns(3, 7), [9, 8], FairTurns(0, 8)),
        (FairTurns(3, 7, 0), [0], FairTurns(4, 7, 0)),
    ],
)
def test_turns_are_counted_in_the_order_of_serving(turns, lanes, after):
    assert turns.after(lanes) == after
