"""Hypothesis profiles: `fast` for `make test`, `full` for `make test-full` (`pytest --hypothesis-profile=full`)."""

from __future__ import annotations

from hypothesis import settings

FAST, FULL = "fast", "full"
MORE = 5
"""How many times as many examples `full` tries."""
_USUAL = 50

settings.register_profile(FAST, max_examples=_USUAL, deadline=None)
settings.register_profile(FULL, max_examples=_USUAL * MORE, deadline=None)
settings.load_profile(FAST)


def is_full() -> bool:
    """Tells whether this run has time for more."""
    return settings.get_current_profile_name() == FULL


def examples(few: int) -> int:
    """Returns the number of examples for the profile of this run: so few in `fast`."""
    return few * MORE if is_full() else few
