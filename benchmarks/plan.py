"""How much is run: the whole measure, or a short one that only shows that it works."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Plan:
    rounds: int = 5
    jobs: int = 20_000
    raw_jobs: int = 100_000
    seconds: float = 10.0
    burst: int = 2_000
    items: int = 10_000
    crowd: int = 100_000
    history: int = 200_000
    begun: float = field(default_factory=time.monotonic)

    @classmethod
    def quick(cls) -> Plan:
        return cls(
            rounds=1,
            jobs=4_000,
            raw_jobs=20_000,
            seconds=2.0,
            burst=500,
            items=2_000,
            crowd=20_000,
            history=20_000,
        )

    def each_round(self, measure: str, *, warm_up: bool, most: int = 1000) -> Iterator[int]:
        """The numbers of the rounds; the warm-up is round 0, and is not counted."""
        rounds = min(self.rounds, most)
        self.say(f"{measure}: {rounds} rounds{' and a warm-up' if warm_up else ''}")
        yield from range(0 if warm_up else 1, rounds + 1)

    def say(self, words: str) -> None:
        sys.stderr.write(f"{time.monotonic() - self.begun:6.1f} s  {words}\n")
        sys.stderr.flush()
