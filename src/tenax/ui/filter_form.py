"""Shows a filter as the fields of a form, and writes such fields as the text of a filter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from starlette.datastructures import ImmutableMultiDict

from tenax.errors import UsageError
from tenax.model.filters.fields import FIELDS, INPUT, LETTER_FIELDS, Field
from tenax.model.filters.terms import Filter, Match, Term, Time, Words

OF_EXECUTIONS = ("workflow", "step", "class", "reason", "queue", "label", "since", "until", "text")
OF_LETTERS = ("workflow", "step", "class", "reason", "queue", "execution", "since", "until", "text")
"""The fields of the forms, beside the status and `input.PATH`. Terms on other fields stay as text."""
STATUS, PATH, REST = "status", "path", "rest"
_NOT_PLAIN = re.compile(r'[,*"]|^\s|\s$')
_BARE = re.compile(r'[^\s,"*]+')
_BARE_SEGMENT = re.compile(r'[^\s.,="!*\\@]+')


@dataclass(frozen=True, slots=True)
class FilterForm:
    """Holds the values of the fields of a form."""

    fields: Sequence[Field]
    statuses: Sequence[str]
    """The statuses that there are."""
    chosen: Sequence[str]
    """The statuses that the filter names."""
    values: Mapping[str, str]
    rest: str
    """The terms that no field of the form can show, as text."""

    @property
    def is_empty(self) -> bool:
        return not self.chosen and not self.rest and not any(self.values.values())


def execution_form(chosen: Filter | None, text: str) -> FilterForm:
    """Returns the form of a filter of executions. If the text is no filter, all of it is the rest."""
    return _form(FIELDS, OF_EXECUTIONS, chosen, text)


def letter_form(chosen: Filter | None, text: str) -> FilterForm:
    """Returns the form of a filter of dead letters."""
    return _form(LETTER_FIELDS, OF_LETTERS, chosen, text)


def _form(known: Mapping[str, Field], names: Sequence[str], chosen: Filter | None, text: str) -> FilterForm:
    values = dict.fromkeys((*names, PATH, INPUT), "")
    statuses: tuple[str, ...] = ()
    rest: list[Term] = []
    for term in chosen.terms if chosen is not None else ():
        shown = _shown(term)
        name = "" if shown is None else getattr(term, "field", "")
        if name == STATUS and not statuses and isinstance(term, Words):
            statuses = tuple(match.text for match in term.matches)
        elif name in values and name != PATH and not values[name]:
            values[name] = shown or ""
            if isinstance(term, Words) and term.path:
                values[PATH] = ".".join(term.path)
        else:
            rest.append(term)
    left = str(Filter(tuple(rest))) if chosen is not None else text
    fields = tuple(known[name] for name in names)
    return FilterForm(fields, known[STATUS].choices, statuses, values, left)


def _shown(term: Term) -> str | None:
    """Returns the value of a term as a field of a form shows it. Returns None if a field cannot."""
    if isinstance(term, Time):
        return str(Filter((term,))).partition("=")[2]
    if not isinstance(term, Words) or term.negated:
        return None
    if any(_BARE_SEGMENT.fullmatch(segment) is None for segment in term.path):
        return None
    if term.field == "text":
        is_alone = len(term.matches) == 1 and term.matches[0].text.strip() == term.matches[0].text
        return term.matches[0].text if is_alone else None
    if any(_NOT_PLAIN.search(one.text) or not (one.text or one.is_prefix) for one in term.matches):
        return None
    return ",".join(f"{one.text}*" if one.is_prefix else one.text for one in term.matches)


def text_of_fields(sent: Iterable[tuple[str, str]]) -> str:
    """Writes the filter that the fields of a form describe. Wrong values are in it too, for the parser to refuse."""
    values: dict[str, list[str]] = {}
    for name, value in sent:
        if value := value.strip():
            values.setdefault(name, []).append(value)
    if PATH in values:
        values.setdefault(INPUT, ["*"])  # any value at this path
    terms = [_term(name, found, values) for name, found in values.items() if name in _WRITTEN]
    return " ".join([*filter(None, terms), *values.get(REST, [])])


_WRITTEN = frozenset((STATUS, INPUT, *OF_EXECUTIONS, *OF_LETTERS))


def _term(name: str, found: Sequence[str], values: Mapping[str, Sequence[str]]) -> str:
    if name in ("since", "until"):
        return f"{name}={_quoted_if_needed(found[0])}"
    if name == "text":
        return str(Filter((Words(name, (Match(found[0]),)),)))
    path: tuple[str, ...] = ()
    if name == INPUT:
        path = tuple(part for part in values.get(PATH, [""])[0].split(".") if part)
    pieces = [piece.strip() for value in found for piece in value.split(",")]
    matches = tuple(Match(one.removesuffix("*"), one.endswith("*")) for one in pieces if one)
    return str(Filter((Words(name, matches, path=path),))) if matches else ""


def _quoted_if_needed(value: str) -> str:
    return value if _BARE.fullmatch(value) else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def with_status(chosen: Filter, status: str | None) -> str:
    """Writes a filter with another status, or without one. A term that excludes statuses goes too."""
    others = tuple(term for term in chosen.terms if not (isinstance(term, Words) and term.field == STATUS))
    named = () if status is None else (Words(STATUS, (Match(status),)),)
    return str(Filter((*named, *others)))


def without_status(chosen: Filter) -> Filter:
    """Returns a filter without its terms on the status."""
    return Filter(
        tuple(term for term in chosen.terms if not (isinstance(term, Words) and term.field == STATUS))
    )


def selected(given: ImmutableMultiDict[str, str]) -> str:
    """Returns the filter of what a list has sent: the rows that were chosen (`id`), or all that its filter selects.

    Raises UsageError if rows could be chosen (`rows`), and none was.
    """
    ids = given.getlist("id")
    if "all" in given or not ("rows" in given or ids):
        return given.get("filter", "")
    if not ids:
        raise UsageError("nothing is chosen", remedy="choose rows of the list, or all that match its filter")
    return f"id={','.join(ids)}"
