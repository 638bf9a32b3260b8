"""Defines the values that filters are read into, and writes them as text again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Literal, TypeAlias, assert_never

from tenax.errors import NotFound, UsageError
from tenax.model.durations import format_duration, parse_duration

MAX_TERMS = 50  # terms of a filter
MAX_VALUES = 500  # values of a filter
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9_.:/@+-]+", re.ASCII)
_PLAIN_SEGMENT = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Match:
    """Is one value that a field may have: a whole text, or the beginning of a text."""

    text: str
    is_prefix: bool = False


@dataclass(frozen=True, slots=True)
class Words:
    """Selects executions whose field has one of these values. `negated` selects all others."""

    field: str
    matches: tuple[Match, ...]
    negated: bool = False
    path: tuple[str, ...] = ()
    """The path below `input`. Other fields have none."""


@dataclass(frozen=True, slots=True)
class Ago:
    """Is a time before the time at which the filter is used."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Time:
    """Selects executions that started since a time, or before it."""

    field: Literal["since", "until"]
    moment: Ago | datetime


@dataclass(frozen=True, slots=True)
class Saved:
    """Stands for the terms of a filter that was saved under this name."""

    name: str


Term: TypeAlias = Words | Time | Saved


@dataclass(frozen=True, slots=True)
class Filter:
    """Selects the executions to which all terms apply. A filter without terms selects every execution."""

    terms: tuple[Term, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __and__(self, other: Filter) -> Filter:
        return Filter((*self.terms, *other.terms))

    @property
    def saved_names(self) -> tuple[str, ...]:
        """Returns the names of the saved filters that it refers to."""
        return tuple(term.name for term in self.terms if isinstance(term, Saved))

    def expanded(self, saved: Mapping[str, Filter]) -> Filter:
        """Returns the filter with the terms of saved filters in the place of their names."""
        terms: list[Term] = []
        for term in self.terms:
            if not isinstance(term, Saved):
                terms.append(term)
            elif term.name in saved:
                terms += saved[term.name].terms
            else:
                raise NotFound(
                    f"no filter is saved under the name {term.name!r}",
                    remedy="`tenax filters list` shows the saved filters",
                )
        values = sum(len(term.matches) for term in terms if isinstance(term, Words))
        if len(terms) > MAX_TERMS or values > MAX_VALUES:
            raise UsageError(
                f"with its saved filters the filter has {len(terms)} terms and {values} values; "
                f"{MAX_TERMS} and {MAX_VALUES} are allowed"
            )
        return Filter(tuple(terms))

    def anchored(self, now: datetime) -> Filter:
        """Returns the filter with fixed times, so that it means the same later."""
        return Filter(tuple(_anchored(term, now) for term in self.terms))

    def __str__(self) -> str:
        return " ".join(map(_format_term, self.terms))


EVERYTHING = Filter()
"""The filter that selects every execution."""


def _anchored(term: Term, now: datetime) -> Term:
    if isinstance(term, Time) and isinstance(term.moment, Ago):
        return Time(term.field, now - timedelta(seconds=term.moment.seconds))
    return term


def _format_term(term: Term) -> str:
    match term:
        case Words():
            name = ".".join([term.field, *map(_format_segment, term.path)])
            sign = "!=" if term.negated else "="
            return f"{name}{sign}{','.join(map(_format_match, term.matches))}"
        case Time():
            return f"{term.field}={_format_moment(term.moment)}"
        case Saved():
            return f"@{term.name}"
        case _:
            assert_never(term)


def _format_match(match: Match) -> str:
    star = "*" if match.is_prefix else ""
    if match.is_prefix and not match.text:
        return star
    return f"{match.text if _PLAIN_VALUE.fullmatch(match.text) else _quoted(match.text)}{star}"


def _format_segment(segment: str) -> str:
    return segment if _PLAIN_SEGMENT.fullmatch(segment) else _quoted(segment)


def _format_moment(moment: Ago | datetime) -> str:
    if isinstance(moment, datetime):
        return moment.isoformat().replace("+00:00", "Z")
    short = format_duration(moment.seconds).replace(" ", "")
    return short if parse_duration(short) == moment.seconds else f"{Decimal(repr(moment.seconds)):f}s"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
