"""Tests what is computed from the rates of several crews."""

from __future__ import annotations

from collections import Counter

import pytest
from benchmarks.scaling import Crew, Seen, beside_fewer, figures

RATES = {
    Crew(1, 1): [100.0, 100.0],
    Crew(1, 4): [200.0, 50.0],
    Crew(4, 1): [150.0, 400.0],
    Crew(4, 4): [100.0, 200.0],
}


@pytest.mark.parametrize(
    ("crew", "ratios"),
    [
        (Crew(1, 4), (2.0, 0.5)),
        (Crew(4, 1), (1.5, 4.0)),
        (Crew(4, 4), (0.5, 0.5)),
    ],
)
def test_a_crew_is_held_against_the_best_of_those_with_fewer_round_by_round(crew, ratios):
    assert beside_fewer(RATES, crew) == ratios


def test_the_smallest_crew_has_nothing_to_be_held_against():
    seen = {crew: [Seen(rate, 0, 1.0, Counter()) for rate in rates] for crew, rates in RATES.items()}
    held = [figure.name for figure in figures(seen) if "the best with fewer" in figure.name]
    assert held == [f"{crew} / the best with fewer" for crew in list(RATES)[1:]]


def test_deadlocks_of_all_crews_count_together():
    seen = {crew: [Seen(1.0, number, 1.0, Counter())] for number, crew in enumerate(RATES)}
    [deadlocks] = [figure for figure in figures(seen) if figure.name == "deadlocks"]
    assert deadlocks.rounds == (6,)
    assert deadlocks.reached is False


def test_the_share_of_a_wait_is_of_all_busy_sessions():
    seen = Seen(
        1.0, 0, 1.0, Counter({"working": 5, "Lock:tuple": 2, "Lock:transactionid": 1, "LWLock:WALWrite": 2})
    )
    assert (seen.share("Lock"), seen.share("LWLock"), seen.share("IO")) == (30.0, 20.0, 0.0)
    assert Seen(1.0, 0, 1.0, Counter()).share("Lock") == 0.0
