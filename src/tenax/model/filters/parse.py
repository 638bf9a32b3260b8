"""Reads the text of a filter. It looks at each character a bounded number of times, so no text takes long."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal, NoReturn, cast

from tenax.errors import UsageError
from tenax.model.durations import parse_duration
from tenax.model.filters.fields import FIELDS, INPUT, LETTER_FIELDS, NO_PARENT, Field
from tenax.model.filters.terms import MAX_TERMS, MAX_VALUES, Ago, Filter, Match, Saved, Term, Time, Words
from tenax.model.source.findings import nearest, shorten

MAX_LENGTH = 4000  # characters of a filter
MAX_PATH = 20  # segments of a path below `input`
MAX_NAME = 100  # characters of the name of a saved filter
LARGEST_ID = 2**63 - 1

_SPACE = re.compile(r"\s*")
_FIELD = re.compile(r"[A-Za-z_]+")
_SEGMENT = re.compile(r'[^\s.,="!*\\@]+')
_BARE = re.compile(r'[^\s,"*]+')
_REST = re.compile(r"\S+")
_SAVED = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", re.ASCII)
_REFUSED = re.compile(r"[\x00\ud800-\udfff]")


def parse_filter(text: str, *, stored: bool = False) -> Filter:
    """Returns the filter that a text describes. Raises UsageError with the column, the cause and the nearest name.

    `stored` reads a filter that the server has written itself: with the terms of saved filters it may be longer.
    """
    _check_characters(text, stored=stored)
    return _Reader(text, FIELDS).read()


def parse_letter_filter(text: str, *, stored: bool = False) -> Filter:
    """Returns the filter of dead letters that a text describes, as `parse_filter` does it for executions."""
    _check_characters(text, stored=stored)
    return _Reader(text, LETTER_FIELDS).read()


def _check_characters(text: str, *, stored: bool) -> None:
    if len(text) > MAX_LENGTH and not stored:
        raise UsageError(f"the filter has {len(text):,} characters, and {MAX_LENGTH:,} are allowed")
    if (refused := _REFUSED.search(text)) is not None:
        raise UsageError(f"filter, column {refused.start() + 1}: this character cannot be part of a text")


def is_saved_name(name: str) -> bool:
    """Returns whether a filter may be saved under this name."""
    return len(name) <= MAX_NAME and _SAVED.fullmatch(name) is not None


class _Reader:
    """Reads the terms of one text from left to right."""

    def __init__(self, text: str, fields: Mapping[str, Field]) -> None:
        self._text = text
        self._fields = fields
        self._at = 0
        self._values = 0

    def read(self) -> Filter:
        terms: list[Term] = []
        self._skip_space()
        while self._at < len(self._text):
            if len(terms) >= MAX_TERMS:
                self._fail(f"a filter has at most {MAX_TERMS} terms")
            start = self._at
            term = self._term()
            if isinstance(term, Time) and any(isinstance(t, Time) and t.field == term.field for t in terms):
                self._fail(f"`{term.field}` is given twice", start)
            terms.append(term)
            if self._at < len(self._text) and not self._text[self._at].isspace():
                self._fail(
                    "expected a space before the next term, or a comma before the next value: "
                    "put quotes around a value with special characters"
                )
            self._skip_space()
        return Filter(tuple(terms))

    def _term(self) -> Term:
        start = self._at
        if self._takes("@"):
            if self._fields is LETTER_FIELDS:
                self._fail("saved filters select executions: write the terms for dead letters out", start)
            return self._saved()
        negated = self._takes("-")
        field = self._field()
        path = self._path() if field.name == INPUT else ()
        if self._takes("!="):
            negated = not negated
        elif not self._takes("="):
            self._fail(f"expected `=` and a value after `{field.shown}`, such as {field.example}")
        if field.kind == "time":
            return self._time(field, negated=negated, start=start)
        matches = [self._match(field)]
        while self._takes(","):
            matches.append(self._match(field))
        return Words(field.name, tuple(matches), negated, path)

    def _saved(self) -> Saved:
        start = self._at
        name = self._take(_REST)
        if not is_saved_name(name):
            self._fail(f"{shorten(repr(name))} is not the name of a saved filter", start)
        return Saved(name)

    def _field(self) -> Field:
        start = self._at
        name = self._take(_FIELD)
        if name not in self._fields:
            word = self._take(_REST)
            if not name or ("=" not in word and nearest(name, self._fields) is None):
                self._fail(
                    f"expected FIELD=VALUE, found {shorten(repr(name + word))}; to search for a text write text=...",
                    start,
                )
            meant = nearest(name, self._fields)
            names = ", ".join(field.shown for field in self._fields.values())
            hint = f"did you mean `{self._fields[meant].shown}`?" if meant else f"there are {names}"
            self._fail(f"there is no field `{shorten(name)}`; {hint}", start)
        return self._fields[name]

    def _path(self) -> tuple[str, ...]:
        segments: list[str] = []
        while self._takes("."):
            if len(segments) >= MAX_PATH:
                self._fail(f"a path has at most {MAX_PATH} parts")
            segment = self._quoted() if self._peek() == '"' else self._take(_SEGMENT)
            if segment is None or segment == "":
                self._fail("expected a name in the path, such as input.customer.id=42")
            segments.append(segment)
        if not segments:
            self._fail("expected a path after `input`, such as input.customer.id=42")
        return tuple(segments)

    def _match(self, field: Field) -> Match:
        self._values += 1
        if self._values > MAX_VALUES:
            self._fail(f"a filter has at most {MAX_VALUES} values")
        start = self._at
        text = self._value(field)
        is_prefix = self._takes("*")
        if is_prefix and not field.takes_prefix:
            self._fail(f"`{field.shown}` takes no `*`", self._at - 1)
        if field.choices and text not in field.choices:
            meant = nearest(text, field.choices)
            hint = f"did you mean `{meant}`?" if meant else f"there are {', '.join(field.choices)}"
            self._fail(f"`{field.name}` is never {shorten(repr(text))}; {hint}", start)
        if field.kind in ("parent", "id"):
            self._check_number(field, text, start)
        if field.kind == "text" and not text:
            self._fail("`text` needs at least one character", start)
        return Match(text, is_prefix)

    def _value(self, field: Field) -> str:
        if self._peek() == '"':
            return self._quoted()
        text = self._take(_BARE)
        if not text and self._peek() != "*":
            self._fail(f'expected a value for `{field.shown}`, such as {field.example}; "" is the empty text')
        return text

    def _quoted(self) -> str:
        start = self._at
        self._at += 1
        parts: list[str] = []
        while True:
            if self._at >= len(self._text):
                self._fail("this quote is never closed", start)
            one = self._text[self._at]
            self._at += 1
            if one == '"':
                return "".join(parts)
            if one == "\\":
                one = self._peek()
                if one not in ('"', "\\"):
                    self._fail('after a backslash there can be `"` or a second backslash')
                self._at += 1
            parts.append(one)

    def _time(self, field: Field, *, negated: bool, start: int) -> Time:
        if negated:
            other = "until" if field.name == "since" else "since"
            self._fail(f"`{field.name}` cannot be negated: use `{other}`", start)
        place = self._at
        text = self._value(field)
        name = cast("Literal['since', 'until']", field.name)
        try:
            return Time(name, Ago(parse_duration(text)))
        except ValueError:
            pass
        try:
            moment = datetime.fromisoformat(text)
            return Time(name, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC))
        except (ValueError, OverflowError):
            self._fail(
                f"{shorten(repr(text))} is neither a duration back from now (2h) nor a time (2026-01-31T12:00:00Z)",
                place,
            )

    def _check_number(self, field: Field, text: str, start: int) -> None:
        if field.kind == "parent" and text == NO_PARENT:
            return
        is_number = text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST_ID))
        if not is_number or not 0 < int(text) <= LARGEST_ID:
            or_none = f" or `{NO_PARENT}`" if field.kind == "parent" else ""
            is_letter = self._fields is LETTER_FIELDS and field.name == "id"
            what = "a dead letter" if is_letter else "an execution"
            self._fail(f"expected the number of {what}{or_none}, found {shorten(repr(text))}", start)

    def _skip_space(self) -> None:
        self._take(_SPACE)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _takes(self, sign: str) -> bool:
        if not self._text.startswith(sign, self._at):
            return False
        self._at += len(sign)
        return True

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:
            return ""
        self._at = found.end()
        return found[0]

    def _fail(self, message: str, at: int | None = None) -> NoReturn:
        column = (self._at if at is None else at) + 1
        raise UsageError(f"filter, column {column}: {message}")
