"""Defines the profiles of Hypothesis: `fast` for `make test`, `full` for `make test-full` (`pytest --hypothesis-profile=full`)."""

from __future__ import annotations

from hypothesis import settings

FAST, FULL = "fast", "full"
MORE = 3
"""The factor by which `full` tries more examples."""
_USUAL = 50

settings.register_profile(FAST, max_examples=_USUAL, deadline=None)
settings.register_profile(FULL, max_examples=_USUAL * MORE, deadline=None)
settings.load_profile(FAST)


def is_full() -> bool:
    """Returns whether this run uses the profile `full`."""
    return settings.get_current_profile_name() == FULL


def examples(few: int) -> int:
    """Returns the number of examples for the profile of this run. The argument is the number for `fast`."""
    return few * MORE if is_full() else few
