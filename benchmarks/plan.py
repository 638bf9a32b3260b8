"""Says how much is run: the whole measure, or a short one that only shows that it works."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from benchmarks.report import Figure

ROUNDS_NEAR_A_MARK = 10


@dataclass(frozen=True, slots=True)
class Plan:
    rounds: int = 5
    rounds_near_a_mark: int = ROUNDS_NEAR_A_MARK
    """The number of rounds of a measure if one of its medians is close to its mark."""
    jobs: int = 120_000
    raw_jobs: int = 200_000
    steps: int = 60_000
    seconds: float = 6.0
    burst: int = 2_000
    retried: int = 60_000
    items: int = 10_000
    crowd: int = 100_000
    history: int = 200_000
    waiting: int = 1_000_000
    events: int = 10_000_000
    driven: int = 10_000
    """The number of jobs of a round in which the bench itself drives an engine."""
    scaled: int = 10_000
    idle_seconds: float = 20.0
    begun: float = field(default_factory=time.monotonic)

    @classmethod
    def quick(cls) -> Plan:
        return cls(
            rounds=1,
            rounds_near_a_mark=1,
            jobs=4_000,
            raw_jobs=20_000,
            steps=2_000,
            seconds=2.0,
            burst=500,
            retried=4_000,
            items=2_000,
            crowd=20_000,
            history=20_000,
            waiting=50_000,
            events=500_000,
            driven=2_000,
            scaled=2_000,
            idle_seconds=3.0,
        )

    def each_round(
        self,
        measure: str,
        *,
        warm_up: bool,
        most: int = 1000,
        figures: Callable[[], Sequence[Figure]] = tuple,
    ) -> Iterator[int]:
        """Yields the numbers of the rounds. Round 0 is the warm-up, which is not counted.

        After the planned rounds (at most `most`), more rounds follow if a figure is near its mark.
        """
        rounds = min(self.rounds, most)
        self.say(f"{measure}: {rounds} rounds{' and a warm-up' if warm_up else ''}")
        yield from range(0 if warm_up else 1, rounds + 1)
        if rounds < self.rounds_near_a_mark and (near := [one for one in figures() if one.near_its_mark]):
            self.say(f"{measure}: on to {self.rounds_near_a_mark} rounds, near its mark is: {near[0].name}")
            yield from range(rounds + 1, self.rounds_near_a_mark + 1)

    def say(self, words: str) -> None:
        sys.stderr.write(f"{time.monotonic() - self.begun:6.1f} s  {words}\n")
        sys.stderr.flush()
