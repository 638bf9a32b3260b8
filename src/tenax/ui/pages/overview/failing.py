"""Describes groups of failures, each with the filter of its executions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenax.model.filters.terms import Filter, Match, Words
from tenax.model.letters.fingerprint import shape_of
from tenax.model.letters.views import LetterGroup
from tenax.model.metrics.counts import MOST_TEXT
from tenax.model.metrics.figures import FailureGroup
from tenax.ui.pages.overview.readings import Failures

MOST_NAMED = 10  # workflows and steps that a filter names, so that it stays short


@dataclass(frozen=True, slots=True)
class ShownGroup:
    """Is a group of dead letters."""

    group: LetterGroup
    shape: str
    """The message without the values that differ from case to case."""
    trend: Sequence[int]
    """Letters by the time of their last failure."""
    filter: str
    """Selects the executions that have failed so."""


def shown_groups(failures: Failures) -> list[ShownGroup]:
    return [
        ShownGroup(
            group=one,
            shape=shape_of(one.example),
            trend=failures.trends[one.fingerprint],
            filter=_filter(one.workflows, one.steps, one.failure_class, one.reason),
        )
        for one in failures.groups
    ]


def filter_of(group: FailureGroup) -> str:
    """Returns the filter of the executions that a failure concerns now, also of those that are retried."""
    return _filter([group.workflow], [group.step], group.class_, group.reason)


def _filter(workflows: Sequence[str], steps: Sequence[str], failure_class: str, reason: str) -> str:
    terms = [
        Words(name, tuple(map(Match, values)))
        for name, values in (("workflow", workflows), ("step", steps), ("class", [failure_class]))
        if 0 < len(values) <= MOST_NAMED and all(values)
    ]
    if reason:
        terms.append(Words("reason", (Match(reason, is_prefix=len(reason) >= MOST_TEXT),)))
    return str(Filter(tuple(terms)))
