"""Numbers of a report that no program has are not believed: JSON could not hold them."""

from __future__ import annotations

import pytest

from tenax.model.attempt.bounded import ReportLimits, bounded_facts
from tenax.model.attempt.outcome import Facts

LIMITS = ReportLimits(message=100, evidence=1000)


@pytest.mark.parametrize("name", ["status_code", "exit_code", "signal"])
@pytest.mark.parametrize("number", [10**30, -(10**30), 2**31])
def test_a_number_that_is_too_large_is_left_out(name: str, number: int) -> None:
    facts = bounded_facts(Facts(message="no", **{name: number}), LIMITS)
    assert facts == Facts(message="no")


def test_an_ordinary_number_is_kept() -> None:
    facts = Facts(message="no", status_code=503, exit_code=-9, signal=15)
    assert bounded_facts(facts, LIMITS) is facts
