"""Tests which query a claim sends next, by tables and against a model of the queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tenax.policy.dispatch.claim_plan import (
    MIN_EXPECTED,
    SNAPSHOT_SECONDS,
    Claim,
    ClaimState,
    LevelSnapshot,
    Pick,
    Query,
    QueueKnowledge,
    QueueSnapshot,
    Share,
    SnapshotSource,
    after_claim,
    after_look,
    after_pick,
    begin_claim,
    next_query,
    plan_shares,
)
from tenax.policy.dispatch.fair_turns import FairTurns, serve_order

QUEUES = frozenset({"q"})
LANE = 7


def level(
    new: float | None = None,
    retry: float | None = None,
    lanes: tuple[int, int] | None = None,
    lane_waited: float | None = None,
    *,
    queue: str = "q",
    priority: int = 5,
) -> LevelSnapshot:
    first, last = lanes or (None, None)
    return LevelSnapshot(queue, priority, new, retry, first, last, lane_waited)


def snapshot(*levels: LevelSnapshot, at: float = 0.0, queues: frozenset[str] = QUEUES) -> QueueSnapshot:
    return QueueSnapshot(queues, at, levels)


NEW = snapshot(level(new=1.0))
FAN_OUT = snapshot(level(lanes=(LANE, LANE), lane_waited=1.0))
BOTH = snapshot(level(new=1.0, lanes=(LANE, LANE), lane_waited=1.0))
LIMITED = snapshot(level(lanes=(0, 0), lane_waited=1.0))
EMPTY = snapshot()


# -- what a snapshot allows


@pytest.mark.parametrize(
    ("seen", "is_simple", "has_fan_out"),
    [
        (EMPTY, True, False),
        (NEW, True, False),
        (snapshot(level(new=1.0, retry=3.0)), True, False),
        (snapshot(level(new=1.0), level(new=2.0, queue="r")), True, False),
        (snapshot(level(new=1.0), level(new=2.0, priority=6)), False, False),
        (FAN_OUT, False, True),
        (BOTH, False, True),
        (snapshot(level(new=1.1, lanes=(LANE, LANE), lane_waited=1.0)), False, False),
        (snapshot(level(new=1.0, lanes=(LANE, LANE), lane_waited=-5.0)), False, False),
        (snapshot(level(lanes=(LANE, LANE), lane_waited=-5.0)), False, True),
        (snapshot(level(lanes=(LANE, 9), lane_waited=1.0)), False, False),
        (LIMITED, False, False),
        (snapshot(level(lanes=(0, LANE), lane_waited=1.0)), False, False),
        (snapshot(*FAN_OUT.levels, level(new=0.5, priority=6)), False, False),
        (snapshot(*FAN_OUT.levels, level(new=0.5, queue="r")), False, True),
        (snapshot(*FAN_OUT.levels, level(lanes=(9, 9), lane_waited=1.0, priority=6)), False, False),
    ],
)
def test_a_short_claim_serves_unrestricted_items_of_one_priority_and_one_fan_out(
    seen, is_simple, has_fan_out
):
    assert (seen.is_simple, seen.fan_out is not None) == (is_simple, has_fan_out)


# -- the shares


def new(most: int, skip: int = 0, queue: str = "q") -> Share:
    return Share(queue, 5, "queued", 0, skip, most)


def retries(most: int, skip: int = 0, queue: str = "q") -> Share:
    return Share(queue, 5, "retrying", 0, skip, most)


def fan_out(most: int, skip: int = 0) -> Share:
    return Share("q", 5, "", LANE, skip, most)


@pytest.mark.parametrize(
    ("seen", "slots", "turns", "shares"),
    [
        (NEW, 10, FairTurns(), [retries(5), new(10)]),
        (snapshot(level(retry=1.0)), 10, FairTurns(), [new(5), retries(10)]),
        (snapshot(level(new=1.0, retry=3.0)), 10, FairTurns(), [new(5), retries(10), new(10, 5)]),
        (snapshot(level(new=3.0, retry=1.0)), 10, FairTurns(), [retries(5), new(10), retries(10, 5)]),
        (snapshot(level(new=3.0, retry=1.0)), 3, FairTurns(odd_slot=1), [retries(2), new(3), retries(3, 2)]),
        (snapshot(level(new=3.0, retry=1.0)), 3, FairTurns(odd_slot=0), [retries(1), new(3), retries(3, 1)]),
        (
            snapshot(level(new=1.0, retry=2.0), level(new=3.0, queue="r")),
            4,
            FairTurns(),
            [retries(2, queue="r"), new(4, queue="r"), new(2), retries(4), new(4, 2)],
        ),
        (FAN_OUT, 10, FairTurns(), [fan_out(10)]),
        (BOTH, 8, FairTurns(), [fan_out(1), retries(4), new(8), fan_out(8, 1)]),
        (BOTH, 8, FairTurns(odd_slot=0), [fan_out(1), retries(3), new(8), fan_out(8, 1)]),
        (BOTH, 8, FairTurns(since_fan_out=7), [fan_out(1), retries(4), new(8), fan_out(8, 1)]),
        (BOTH, 9, FairTurns(since_fan_out=7), [fan_out(2), retries(4), new(9), fan_out(9, 2)]),
    ],
)
def test_shares(seen, slots, turns, shares):
    assert plan_shares(seen, slots, turns) == shares


# -- what comes next

DRAINED = ClaimState(QueueKnowledge.DRAINED, NEW)
AWARE = ClaimState(QueueKnowledge.SNAPSHOT, NEW)


@pytest.mark.parametrize(
    ("state", "queues", "now", "source"),
    [
        (ClaimState(), QUEUES, 0.0, SnapshotSource.NONE),
        (DRAINED, QUEUES, 1e9, SnapshotSource.GUESS),
        (DRAINED, frozenset({"q", "r"}), 0.0, SnapshotSource.NONE),
        (replace(DRAINED, snapshot=FAN_OUT), QUEUES, 0.0, SnapshotSource.NONE),
        (AWARE, QUEUES, SNAPSHOT_SECONDS * 0.9, SnapshotSource.MEMORY),
        (AWARE, QUEUES, SNAPSHOT_SECONDS, SnapshotSource.NONE),
        (AWARE, frozenset({"r"}), 0.0, SnapshotSource.NONE),
        (replace(AWARE, snapshot=BOTH), QUEUES, 0.0, SnapshotSource.NONE),
        (replace(AWARE, known=QueueKnowledge.NOTHING), QUEUES, 0.0, SnapshotSource.NONE),
    ],
)
def test_a_claim_begins_with_what_is_known(state, queues, now, source):
    assert begin_claim(state, queues, 10, now).source is source


@pytest.mark.parametrize("known", [QueueKnowledge.DRAINED, QueueKnowledge.SNAPSHOT])
def test_a_claim_picks_nothing_of_a_queue_that_it_was_not_made_for(known):
    """The snapshot was read for workers of both queues. A worker of one must not get items of the other."""
    seen = snapshot(level(new=1.0, queue="other"), level(new=1.0), queues=frozenset({"q", "other"}))
    state = ClaimState(known, seen)
    pick = next_query(state, begin_claim(state, QUEUES, 10, 0.05))
    assert isinstance(pick, Pick)
    assert {share.queue for share in pick.shares} == {"q"}


@pytest.mark.parametrize("known", [QueueKnowledge.DRAINED, QueueKnowledge.SNAPSHOT])
def test_a_claim_for_a_queue_that_had_nothing_reads_it(known):
    seen = snapshot(level(new=1.0, queue="other"), queues=frozenset({"q", "other"}))
    state = ClaimState(known, seen)
    assert next_query(state, begin_claim(state, QUEUES, 10, 0.05)) is Query.LOOK


@pytest.mark.parametrize(
    ("source", "seen", "taken", "was_filled", "query"),
    [
        (SnapshotSource.NONE, EMPTY, 0, None, Query.LOOK),
        (SnapshotSource.GUESS, NEW, 0, None, MIN_EXPECTED),
        (SnapshotSource.GUESS, NEW, 8, True, 2),
        (SnapshotSource.GUESS, NEW, 10, True, Query.END),
        (SnapshotSource.GUESS, NEW, 3, False, Query.END),
        (SnapshotSource.GUESS, NEW, 0, False, Query.LOOK),
        (SnapshotSource.MEMORY, NEW, 0, None, MIN_EXPECTED),
        (SnapshotSource.MEMORY, NEW, 8, True, 2),
        (SnapshotSource.MEMORY, NEW, 3, False, Query.LOOK),
        (SnapshotSource.READ, EMPTY, 0, None, Query.END),
        (SnapshotSource.READ, NEW, 0, None, MIN_EXPECTED),
        (SnapshotSource.READ, NEW, 3, None, 7),
        (SnapshotSource.READ, NEW, 8, True, 2),
        (SnapshotSource.READ, NEW, 3, False, Query.END),
        (SnapshotSource.READ, NEW, 0, False, Query.END),
        (SnapshotSource.READ, BOTH, 0, None, MIN_EXPECTED),
        (SnapshotSource.READ, BOTH, 0, False, Query.FULL_CLAIM),
        (SnapshotSource.READ, BOTH, 3, False, Query.END),
        (SnapshotSource.READ, LIMITED, 0, None, Query.FULL_CLAIM),
        (SnapshotSource.READ, LIMITED, 3, None, Query.END),
    ],
)
def test_next_query(source, seen, taken, was_filled, query):
    found = next_query(ClaimState(), Claim(QUEUES, 10, source, seen, taken, was_filled))
    assert (found.slots if isinstance(found, Pick) else found) == query


def test_a_guess_lets_new_items_and_retries_have_all_slots():
    found = next_query(DRAINED, begin_claim(DRAINED, QUEUES, 5, 0.0))
    assert found == Pick([retries(5), new(5)], 5)


@pytest.mark.parametrize("odd_slot", [0, 1])
def test_a_share_of_nothing_is_not_asked_for(odd_slot):
    state = replace(AWARE, turns=FairTurns(odd_slot=odd_slot))
    found = next_query(state, begin_claim(state, QUEUES, 1, 0.0))
    assert found == Pick([retries(1), new(1)] if odd_slot else [new(1)], 1)


# -- what is known after it


@pytest.mark.parametrize(
    ("known", "source", "taken", "after"),
    [
        (QueueKnowledge.SNAPSHOT, SnapshotSource.READ, 10, QueueKnowledge.SNAPSHOT),
        (QueueKnowledge.SNAPSHOT, SnapshotSource.MEMORY, 10, QueueKnowledge.SNAPSHOT),
        (QueueKnowledge.SNAPSHOT, SnapshotSource.READ, 9, QueueKnowledge.DRAINED),
        (QueueKnowledge.SNAPSHOT, SnapshotSource.MEMORY, 9, QueueKnowledge.NOTHING),
        (QueueKnowledge.DRAINED, SnapshotSource.READ, 0, QueueKnowledge.DRAINED),
        (QueueKnowledge.NOTHING, SnapshotSource.READ, 9, QueueKnowledge.NOTHING),
        (QueueKnowledge.NOTHING, SnapshotSource.GUESS, 9, QueueKnowledge.NOTHING),
        (QueueKnowledge.NOTHING, SnapshotSource.GUESS, 10, QueueKnowledge.NOTHING),
    ],
)
def test_the_queues_are_drained_once_a_claim_has_read_them_and_left_a_slot_empty(known, source, taken, after):
    state = after_claim(ClaimState(known, NEW), Claim(QUEUES, 10, source, NEW, taken))
    assert (state.known, state.filled, state.expected) == (after, taken == 10, max(8, 2 * taken))


def test_an_empty_look_leaves_the_last_snapshot_to_guess_by():
    state, claim = after_look(AWARE, Claim(QUEUES, 10), EMPTY)
    assert (state.known, state.snapshot, claim.snapshot) == (QueueKnowledge.DRAINED, NEW, EMPTY)
    state, claim = after_look(AWARE, Claim(QUEUES, 10), BOTH)
    assert (state.known, state.snapshot, claim.snapshot) == (QueueKnowledge.SNAPSHOT, BOTH, BOTH)


@pytest.mark.parametrize(
    ("source", "seen", "lanes", "known", "turns"),
    [
        (SnapshotSource.READ, NEW, [0, 0, 0], QueueKnowledge.SNAPSHOT, FairTurns(3, 4, 0)),
        (SnapshotSource.MEMORY, NEW, [], QueueKnowledge.SNAPSHOT, FairTurns(3, 4, 0)),
        (SnapshotSource.GUESS, NEW, [0], QueueKnowledge.NOTHING, FairTurns(3, 4, 1)),
        (SnapshotSource.GUESS, NEW, [], QueueKnowledge.NOTHING, FairTurns(3, 4, 1)),
        (SnapshotSource.READ, BOTH, [0, 0], QueueKnowledge.NOTHING, FairTurns(5, 4, 0)),
        (SnapshotSource.READ, BOTH, [LANE, 0, 0, 0, 0, 0], QueueKnowledge.NOTHING, FairTurns(1, LANE, 0)),
        (SnapshotSource.READ, FAN_OUT, [LANE, LANE], QueueKnowledge.NOTHING, FairTurns(0, LANE, 0)),
        (SnapshotSource.READ, FAN_OUT, [], QueueKnowledge.SNAPSHOT, FairTurns(3, 4, 0)),
    ],
)
def test_after_a_pick(source, seen, lanes, known, turns):
    state = ClaimState(QueueKnowledge.SNAPSHOT, seen, turns=FairTurns(3, 4))
    claim = Claim(QUEUES, 10, source, seen, taken=2)
    state, claim = after_pick(state, claim, Pick([], 3), lanes)
    assert (state.known, state.turns) == (known, turns)
    assert (claim.taken, claim.was_filled) == (2 + len(lanes), len(lanes) >= 3)


# -- whole claims, on a model of the queue


@dataclass
class Queue:
    """Ready items in their order, by what a share names them. All have waited for one second, retries a little longer."""

    new: int = 0
    retries: int = 0
    fan_out: int = 0
    needs_full_claim: bool = False
    asked: list[str] = field(default_factory=list)

    def look(self) -> QueueSnapshot:
        self.asked.append("look")
        lanes, waited = ((LANE, LANE), 2.0) if self.fan_out else (None, None)
        seen = level(1.0 if self.new else None, 1.1 if self.retries else None, lanes, waited)
        return snapshot(*([seen] if self.new or self.retries or self.fan_out else []))

    def pick(self, pick: Pick) -> list[str]:
        """Leases as the statement does: share by share, without those that a share skips."""
        self.asked.append(f"pick {pick.slots}")
        ready = {("queued", 0): self.new, ("retrying", 0): self.retries, ("", LANE): self.fan_out}
        names = {("queued", 0): "new", ("retrying", 0): "retries", ("", LANE): "fan_out"}
        picked: list[tuple[str, int]] = []
        for share in pick.shares:
            kind = share.state, share.lane
            there = range(share.skip, min(ready[kind], share.skip + share.most))
            picked += [(names[kind], n) for n in there]
        picked = picked[: pick.slots]
        assert len(set(picked)) == len(picked), "an item was picked twice"
        kinds = [name for name, _ in picked]
        if self.needs_full_claim and "fan_out" in kinds:
            return []
        for name, count in Counter(kinds).items():
            setattr(self, name, getattr(self, name) - count)
        return kinds


def run_claim(state: ClaimState, queue: Queue, slots: int) -> tuple[ClaimState, Query, Counter[str]]:
    claim = begin_claim(state, QUEUES, slots, 0.0)
    served: Counter[str] = Counter()
    while isinstance(query := next_query(state, claim), Pick) or query is Query.LOOK:
        if isinstance(query, Pick):
            kinds = queue.pick(query)
            served.update(kinds)
            lanes = [LANE if kind == "fan_out" else 0 for kind in kinds]
            state, claim = after_pick(state, claim, query, lanes)
        else:
            state, claim = after_look(state, claim, queue.look())
    return (after_claim(state, claim) if query is Query.END else state), query, served


@pytest.mark.parametrize(
    ("state", "queue", "slots", "asked"),
    [
        (ClaimState(), Queue(), 10, ["look"]),
        (ClaimState(), Queue(new=3), 10, ["look", "pick 8"]),
        (ClaimState(), Queue(new=30), 500, ["look", "pick 8", "pick 492"]),
        (ClaimState(expected=60), Queue(new=30), 500, ["look", "pick 60"]),
        (DRAINED, Queue(new=1), 10, ["pick 8"]),
        (DRAINED, Queue(new=100), 10, ["pick 8", "pick 2"]),
        (DRAINED, Queue(), 10, ["pick 8", "look"]),
        (DRAINED, Queue(fan_out=5), 10, ["pick 8", "look", "pick 8"]),
        (DRAINED, Queue(new=1, fan_out=5), 10, ["pick 8"]),
        (AWARE, Queue(new=100), 4, ["pick 4"]),
        (AWARE, Queue(new=3), 4, ["pick 4", "look"]),
        (AWARE, Queue(new=3, retries=4), 8, ["pick 8", "look"]),
        (AWARE, Queue(new=3, fan_out=9), 4, ["pick 4", "look", "pick 1"]),
        (ClaimState(), Queue(new=9, fan_out=9, needs_full_claim=True), 8, ["look", "pick 8"]),
    ],
)
def test_the_queries_of_a_claim(state, queue, slots, asked):
    run_claim(state, queue, slots)
    assert queue.asked == asked


counts = st.integers(0, 30)


@given(counts, counts, counts, st.integers(1, 40), st.integers(0, 9), st.integers(0, 1), st.integers(1, 40))
def test_no_slot_is_left_empty_once_the_queue_was_read(new, retried, fanned, slots, since, odd, expected):
    state = ClaimState(turns=FairTurns(since, 0, odd), expected=expected)
    state, query, served = run_claim(state, Queue(new, retried, fanned), slots)
    assert query is Query.END
    assert served.total() == min(slots, new + retried + fanned)
    assert state.filled == (served.total() == slots)


@given(st.integers(1, 40), st.integers(0, 9), st.integers(0, 1), st.integers(1, 40))
def test_a_fan_out_has_the_turns_that_the_full_claim_would_give_it(slots, since, odd, expected):
    state = ClaimState(turns=FairTurns(since, 0, odd), expected=expected)
    state, _, served = run_claim(state, Queue(new=100, fan_out=100), slots)
    others, fan_outs = [(5.0, 5, "new")] * 100, [(5.0, 5, "fan_out")] * 100
    assert served == Counter(serve_order(others, fan_outs, since)[:slots])


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(1, 40))
@example([3, 1, 9], 1)
def test_new_items_and_retries_have_half_of_the_slots_each(claims: Sequence[int], expected):
    """An odd slot goes to one kind, then to the other."""
    state, total = ClaimState(expected=expected), Counter[str]()
    queue = Queue(new=200, retries=200)
    for slots in claims:
        state, _, served = run_claim(state, queue, slots)
        total += served
    assert abs(total["new"] - total["retries"]) <= 1


def test_a_fan_out_that_needs_the_full_claim_has_nothing_leased_beside_it():
    queue = Queue(new=100, fan_out=100, needs_full_claim=True)
    state, query, served = run_claim(ClaimState(turns=FairTurns(since_fan_out=7)), queue, 5)
    assert (query, served.total()) == (Query.FULL_CLAIM, 0)
    assert state.fresh_snapshot(QUEUES, 0.0) is not None, "the full claim need not look again"
