"""Makes filters of the flags and parameters that are short forms of frequent terms."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tenax.model.filters.fields import NO_PARENT
from tenax.model.filters.terms import Filter, Match, Term, Time, Words


def short_forms(
    *,
    states: Sequence[str] | None = None,
    workflow: str | None = None,
    since: datetime | None = None,
    top: bool = False,
    compensation: str | None = None,
) -> Filter:
    """Returns a filter with a term for each value that is given. `top` leaves out children."""
    terms: list[Term] = []
    if states:
        terms.append(_words("status", *states))
    if workflow is not None:
        terms.append(_words("workflow", workflow))
    if since is not None:
        terms.append(Time("since", since))
    if top:
        terms.append(_words("parent", NO_PARENT))
    if compensation is not None:
        terms.append(_words("compensation", compensation))
    return Filter(tuple(terms))


def _words(field: str, *texts: str) -> Words:
    return Words(field, tuple(map(Match, texts)))
