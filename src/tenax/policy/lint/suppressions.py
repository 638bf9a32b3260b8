"""Reads the comments that switch rules off: `# tenax: ignore TX101 -- why`, at the line of the finding or on a line before it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from tenax.policy.lint.finding import LintFinding

MISTAKE = "TX001"
UNUSED = "TX002"
_COMMENT = re.compile(r"(?:^|\s)#\s*tenax:\s*ignore\b(?P<rest>.*)$")
_CODES = re.compile(r"\s*(?P<codes>TX\d+(?:\s*,\s*TX\d+)*)\s*(?:--\s*(?P<why>.*\S)\s*)?$")


@dataclass(slots=True)
class Suppression:
    """Is one comment."""

    line: int
    column: int
    covers: int
    """The line whose findings it switches off: its own, or the next one with content if the comment stands alone."""
    codes: tuple[str, ...] = ()
    mistake: str | None = None
    used: set[str] = field(default_factory=set)


def read_suppressions(text: str, known: Collection[str]) -> list[Suppression]:
    """Reads the comments of a file. `known` are the codes that there are."""
    lines = text.splitlines()
    found: list[Suppression] = []
    for number, line in enumerate(lines, 1):
        match = _COMMENT.search(line)
        if match is None:
            continue
        column = line.index("#", match.start()) + 1
        alone = not line[: column - 1].strip()
        covers = _next_content(lines, number) if alone else number
        found.append(_read(match["rest"], Suppression(number, column, covers), known))
    return found


def apply(
    findings: Iterable[LintFinding], suppressions: Iterable[Suppression], filename: str | None
) -> Iterator[LintFinding]:
    """Yields the findings that no comment switches off, and what is wrong with the comments."""
    by_line: dict[int, list[Suppression]] = {}
    every = list(suppressions)
    for one in every:
        by_line.setdefault(one.covers, []).append(one)
    for finding in findings:
        hits = [one for one in by_line.get(finding.line or 0, ()) if finding.code in one.codes]
        for hit in hits:
            hit.used.add(finding.code)
        if not hits:
            yield finding
    for one in every:
        yield from _complaints(one, filename)


def _complaints(one: Suppression, filename: str | None) -> Iterator[LintFinding]:
    def say(code: str, message: str, remedy: str) -> LintFinding:
        return LintFinding(code, "warning", message, remedy, "", filename, one.line, one.column)

    if one.mistake is not None:
        yield say(MISTAKE, one.mistake, "write it as `# tenax: ignore TX101 -- why`")
    for code in one.codes:
        if code not in one.used:
            yield say(
                UNUSED, f"the comment switches {code} off, which finds nothing here", "remove the comment"
            )


def _read(rest: str, one: Suppression, known: Collection[str]) -> Suppression:
    match = _CODES.match(rest)
    if match is None:
        one.mistake = "the comment names no code of a rule"
        return one
    codes = tuple(code.strip() for code in match["codes"].split(","))
    unknown = [code for code in codes if code not in known]
    if unknown:
        one.mistake = f"there is no rule {unknown[0]}"
    elif match["why"] is None:
        one.mistake = "the comment gives no reason"
    else:
        one.codes = codes
    return one


def _next_content(lines: list[str], number: int) -> int:
    """Returns the next line that is neither empty nor a comment."""
    for offset, line in enumerate(lines[number:], number + 1):
        if line.strip() and not line.lstrip().startswith("#"):
            return offset
    return number
