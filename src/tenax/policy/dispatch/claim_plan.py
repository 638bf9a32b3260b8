"""Plans a claim: which query the server sends next, and how many slots each kind of ready item gets.

A claim leases ready items to the waiting lease requests. The *short claim* does it by one statement, which takes a list of shares
(`pick_ready_items.sql`). It can serve unrestricted items of one priority, and one fan-out beside them. All other cases need the *full
claim* (`engine/lease/full_claim.py`).

Between claims a server keeps one `ClaimState`. Within a short claim, `next_query` returns the next query, and `after_look`, `after_pick`
and `after_claim` return the state after its answer. This module knows neither the database nor the clock.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import NamedTuple

from tenax.policy.dispatch.fair_turns import FairTurns, fan_out_turns, since_fan_out_after

MAX_CLAIM_SIZE = 500
"""The most items in one claim."""
SNAPSHOT_SECONDS = 0.1
"""Seconds for which a queue snapshot is used while there is more work than slots."""
MIN_EXPECTED = 8
"""The least number of items that a claim asks for at first. With fewer it would often have to ask twice."""

Level = tuple[str, int]
"""A queue and a priority."""


@dataclass(frozen=True, slots=True)
class LevelSnapshot:
    """Describes the ready items at one priority of a queue. Times are the seconds for which the oldest item has been ready."""

    queue: str
    priority: int
    new_waited: float | None
    """The time of new unrestricted items. None if there are none."""
    retry_waited: float | None
    """The time of unrestricted items that are retried. None if there are none."""
    first_lane: int | None
    """The lowest lane of restricted items. 0 if some belong to no fan-out. None if there are no restricted items."""
    last_lane: int | None
    first_lane_waited: float | None
    """The time of the first lane. Negative if none of its items is due yet."""

    @property
    def key(self) -> Level:
        return self.queue, self.priority

    @property
    def waited(self) -> float:
        """Returns the time of unrestricted items. Negative if there are none."""
        return max(_waited(self.new_waited), _waited(self.retry_waited))


@dataclass(frozen=True, slots=True)
class QueueSnapshot:
    """Describes the ready items of some queues when they were last read."""

    queues: frozenset[str] = frozenset()
    at: float = float("-inf")
    levels: tuple[LevelSnapshot, ...] = ()
    """The levels that have ready items."""

    def of(self, queues: frozenset[str]) -> QueueSnapshot:
        """Returns the snapshot of these queues alone. A claim picks items by every level that its snapshot has."""
        if self.queues == queues:
            return self
        return replace(
            self, queues=queues, levels=tuple(level for level in self.levels if level.queue in queues)
        )

    @property
    def unrestricted(self) -> list[LevelSnapshot]:
        """Returns the levels with unrestricted items, the longest waiting first."""
        return sorted((level for level in self.levels if level.waited >= 0), key=lambda level: -level.waited)

    @property
    def restricted(self) -> list[LevelSnapshot]:
        return [level for level in self.levels if level.first_lane is not None]

    @property
    def is_simple(self) -> bool:
        """Returns whether all ready items are unrestricted and have one priority. They are served by age."""
        return len({level.priority for level in self.levels}) <= 1 and not self.restricted

    @property
    def fan_out(self) -> LevelSnapshot | None:
        """Returns the level of the only fan-out that is ready. Returns None if there is none, or more than one.

        There must be no other restricted item. Unrestricted items must have the same priority and must not have waited longer. The two
        kinds then take turns, whatever their age.
        """
        if len(self.restricted) != 1:
            return None
        [own], others = self.restricted, self.unrestricted
        if not own.first_lane or own.first_lane != own.last_lane:
            return None
        if others and (
            any(level.priority != own.priority for level in others)
            or others[0].waited > _waited(own.first_lane_waited)
        ):
            return None
        return own


class Share(NamedTuple):
    """Is a row of `pick_ready_items.sql`: up to `most` items of a level, without the first `skip`."""

    queue: str
    priority: int
    state: str
    """'queued' or 'retrying'. Empty for a fan-out, since both kinds of its items are picked."""
    lane: int
    """The lane of the fan-out, or 0 for unrestricted items."""
    skip: int
    most: int


class QueueKnowledge(Enum):
    """Says what a server knows of the queues when a claim begins."""

    NOTHING = auto()
    """Nothing is known. A claim must read the queues first."""
    SNAPSHOT = auto()
    """The snapshot is only a moment old."""
    DRAINED = auto()
    """The last claim left no ready item. New items are probably like those of the last snapshot."""


@dataclass(frozen=True, slots=True)
class ClaimState:
    """Holds the state that a server keeps from one claim to the next."""

    known: QueueKnowledge = QueueKnowledge.NOTHING
    snapshot: QueueSnapshot = QueueSnapshot()
    """The last snapshot that had ready items."""
    expected: int = MIN_EXPECTED
    """The number of items that the next claim asks for at first: twice as many as the last claim leased.

    With few ready items, hundreds of free slots then cost nothing.
    """
    filled: bool = False
    """True if the last claim filled all slots. There is probably more work than slots."""
    turns: FairTurns = field(default_factory=FairTurns)
    in_vain: frozenset[Hashable] = frozenset()
    """The requests of the last round, if it found nothing for them. Equal requests are not tried again until something has happened."""

    def fresh_snapshot(self, queues: frozenset[str], now: float) -> QueueSnapshot | None:
        """Returns the snapshot of these queues if it is new enough and covers them."""
        is_fresh = self.known is QueueKnowledge.SNAPSHOT and now - self.snapshot.at < SNAPSHOT_SECONDS
        return self.snapshot.of(queues) if is_fresh and self.snapshot.queues >= queues else None


class SnapshotSource(Enum):
    """Says where the snapshot of a claim comes from."""

    NONE = auto()
    GUESS = auto()
    """The queues were drained. The claim assumes that new items resemble the earlier ones."""
    MEMORY = auto()
    READ = auto()


class Query(Enum):
    """Is the next action of a claim, other than picking items."""

    LOOK = auto()
    """Read the queue snapshot."""
    FULL_CLAIM = auto()
    """Make a full claim. Nothing is leased yet, and the short claim cannot serve the ready items."""
    END = auto()


@dataclass(frozen=True, slots=True)
class Pick:
    """Leases items to the next `slots` slots by one statement."""

    shares: Sequence[Share]
    slots: int


@dataclass(frozen=True, slots=True)
class Claim:
    """Is a claim under way."""

    queues: frozenset[str]
    slots: int
    source: SnapshotSource = SnapshotSource.NONE
    snapshot: QueueSnapshot = QueueSnapshot()
    taken: int = 0
    was_filled: bool | None = None
    """Whether the last pick with this snapshot leased as many items as it asked for. None before the first pick."""


def begin_claim(state: ClaimState, queues: frozenset[str], slots: int, now: float) -> Claim:
    if state.known is QueueKnowledge.DRAINED and state.snapshot.queues >= queues:
        drained = state.snapshot.of(queues)
        if drained.levels and drained.is_simple:
            return Claim(queues, slots, SnapshotSource.GUESS, drained)
    fresh = state.fresh_snapshot(queues, now)
    if fresh is not None and fresh.levels and fresh.is_simple:
        return Claim(queues, slots, SnapshotSource.MEMORY, fresh)
    return Claim(queues, slots)


def next_query(state: ClaimState, claim: Claim) -> Pick | Query:
    """Returns the next action of a short claim.

    The first pick asks for the expected number of items, and the next pick for the rest of the slots. The claim reads the queues before it
    leaves a slot empty. A claim by a guess does not read them: it answers with the items that it found, and the next claim reads the
    queues.
    """
    left = claim.slots - claim.taken
    if left <= 0:
        return Query.END
    if claim.source is SnapshotSource.NONE:
        return Query.LOOK
    if claim.was_filled is None:
        return _first_pick(state, claim, left)
    if claim.was_filled:
        return _pick(state, claim, left)
    if claim.source is SnapshotSource.MEMORY or (claim.source is SnapshotSource.GUESS and not claim.taken):
        return Query.LOOK
    if claim.snapshot.restricted and not claim.taken:
        return Query.FULL_CLAIM
    return Query.END


def _first_pick(state: ClaimState, claim: Claim, left: int) -> Pick | Query:
    if not claim.snapshot.levels:
        return Query.END
    if not claim.snapshot.is_simple and claim.snapshot.fan_out is None:
        return Query.END if claim.taken else Query.FULL_CLAIM
    return _pick(state, claim, min(left, state.expected))


def _pick(state: ClaimState, claim: Claim, slots: int) -> Pick:
    if claim.source is SnapshotSource.GUESS:
        shares = _unrestricted_shares(claim.snapshot, slots, slots)
    else:
        shares = plan_shares(claim.snapshot, slots, state.turns)
    return Pick([share for share in shares if share.most], slots)


def plan_shares(snapshot: QueueSnapshot, slots: int, turns: FairTurns) -> list[Share]:
    """Divides the slots between the kinds of items. The fan-out gets one slot of eight. New items and retries get half of the rest each.

    A kind leaves the slots that it does not need to the others.
    """
    own = snapshot.fan_out
    if own is None:
        return _unrestricted_shares(snapshot, slots, (slots + turns.odd_slot) // 2)
    of_fan_out = (own.queue, own.priority, "", own.first_lane or 0)
    if not snapshot.unrestricted:
        return [Share(*of_fan_out, 0, slots)]
    its_turns = fan_out_turns(slots, turns.since_fan_out)
    half = (slots - its_turns + turns.odd_slot) // 2
    others = _unrestricted_shares(snapshot, slots, half)
    return [Share(*of_fan_out, 0, its_turns), *others, Share(*of_fan_out, its_turns, slots)]


def _unrestricted_shares(snapshot: QueueSnapshot, slots: int, half: int) -> list[Share]:
    """Lets the kind that has waited less begin, with `half` of the slots.

    Otherwise it would wait until all items of the other kind are leased.
    """
    shares: list[Share] = []
    rest: list[Share] = []
    for level in snapshot.unrestricted:
        is_new_first = _waited(level.new_waited) < _waited(level.retry_waited)
        first, second = ("queued", "retrying") if is_new_first else ("retrying", "queued")
        shares += [Share(*level.key, first, 0, 0, half), Share(*level.key, second, 0, 0, slots)]
        if half < slots and level.new_waited is not None and level.retry_waited is not None:
            rest.append(Share(*level.key, first, 0, half, slots))
    return shares + rest


def after_look(state: ClaimState, claim: Claim, snapshot: QueueSnapshot) -> tuple[ClaimState, Claim]:
    if snapshot.levels:
        state = replace(state, known=QueueKnowledge.SNAPSHOT, snapshot=snapshot)
    else:
        state = replace(state, known=QueueKnowledge.DRAINED)
    return state, replace(claim, source=SnapshotSource.READ, snapshot=snapshot, was_filled=None)


def after_pick(state: ClaimState, claim: Claim, pick: Pick, lanes: Sequence[int]) -> tuple[ClaimState, Claim]:
    """Records the lanes of the items that a pick has leased."""
    turns, known = state.turns, state.known
    fan_out = claim.snapshot.fan_out
    if claim.source is not SnapshotSource.GUESS:
        halved = (
            pick.slots if fan_out is None else pick.slots - fan_out_turns(pick.slots, turns.since_fan_out)
        )
        turns = replace(turns, odd_slot=(turns.odd_slot + halved) % 2)
    if fan_out is not None and lanes:
        theirs = sum(1 for lane in lanes if lane)
        turns = replace(
            turns,
            since_fan_out=since_fan_out_after(turns.since_fan_out, len(lanes) - theirs, theirs),
            last_lane=(fan_out.first_lane or 0) if theirs else turns.last_lane,
        )
        known = QueueKnowledge.NOTHING  # new items must not wait until the fan-out is done
    elif claim.source is SnapshotSource.GUESS:
        known = QueueKnowledge.NOTHING
    state = replace(state, known=known, turns=turns)
    return state, replace(claim, taken=claim.taken + len(lanes), was_filled=len(lanes) >= pick.slots)


def after_claim(state: ClaimState, claim: Claim) -> ClaimState:
    """Returns the state after a short or a full claim. Keeps the news that came during the claim."""
    filled, known = claim.taken >= claim.slots, state.known
    if not filled and known is not QueueKnowledge.NOTHING:
        known = QueueKnowledge.DRAINED if claim.source is SnapshotSource.READ else QueueKnowledge.NOTHING
    return replace(state, known=known, filled=filled, expected=max(MIN_EXPECTED, 2 * claim.taken))


def _waited(seconds: float | None) -> float:
    return -1.0 if seconds is None else seconds
