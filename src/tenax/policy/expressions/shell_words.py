"""Finds where in a text for `sh -c` a quoted word may stand, and quotes it.

A quoted word is safe only where the shell reads code. Inside quotes, comments or arithmetic its quotes mean something else. If the reader
cannot follow the text, it allows no words.
"""

from __future__ import annotations

import re
import shlex
from bisect import bisect_left
from collections import Counter
from typing import NamedTuple

from tenax.model.shell import always_quoted

MARK = "\0"
"""Replaces a word in a text. No text that can be stored has this character."""

_CODE = frozenset({"text", "substitution", "parentheses"})
"""The frames in which the shell reads code."""
_PLACES = {
    "single": "inside single quotes",
    "double": "inside double quotes",
    "back": "inside backquotes",
    "brace": "inside ${...}",
    "arithmetic": "inside arithmetic",
    "group": "inside arithmetic",
}
_OPENING = {"'": "single", '"': "double", "`": "back"}
_CLOSING = {"single": "'", "double": '"', "back": "`", "brace": "}"}
_BEFORE_COMMENT = " \t\n;&|()<>"
_EXPANSION = re.compile(r"\$\w*\Z")
_CASE = re.compile(r"\bcase\b")
_SPECIAL = re.compile(r"[\\'\"`$#<()\n}\0]")
_SIMPLE = re.compile(r"\$\{\w+\}|\$\([\w ./=-]*\)")
_UNEVEN = re.compile(r"\$[({]|`|\\\n")
"""Constructs in the body of a here-document that may hide the line that ends it."""
_HERE = re.compile(r"<<(-?)[ \t]*((?:\\.|'[^']*'|\"[^\"]*\"|[^\s;&|()<>'\"\\])+)", re.DOTALL)


def quote_word(text: str, before: str = "", following: str = "") -> str:
    """Quotes a text as one word between these two texts.

    A harmless text stays as it is, unless it would become part of `$NAME`, an assignment, or a file descriptor.
    """
    quoted = shlex.quote(text)
    if quoted != text:
        return quoted
    has_meaning = "=" in text or following[:1] in ("<", ">") or _EXPANSION.search(before) is not None
    return always_quoted(text) if has_meaning else text


def misplaced_words(text: str) -> list[str | None]:
    """Returns for each MARK in a text the construct in which it stands if no quoted word may stand there, else None."""
    return _Reader(text).read()


class _Reader:
    """Reads a shell text once, with a stack of the quotes and brackets that are open."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._open: list[tuple[str, int]] = [("text", 0)]
        """Open frames, each with the position at which it begins."""
        self._counts: Counter[str] = Counter()
        """Open frames by kind."""
        self._cases = [found.start() for found in _CASE.finditer(text)]
        self._heres: list[_Here] = []
        self._places: list[str | None] = []
        self._lost = False
        """True if the rest of the text cannot be read with certainty."""

    def read(self) -> list[str | None]:
        while self._at < len(self._text):
            frame = self._open[-1][0]
            if self._text[self._at] == MARK:
                self._mark(_PLACES.get(frame))
                self._at += 1
            elif frame in _CODE:
                self._read_code()
            else:
                self._read_quoted(frame)
        if len(self._open) > 1:
            return [place or "in a text whose quotes or brackets do not end" for place in self._places]
        return self._places

    def _mark(self, place: str | None) -> None:
        self._places.append(place or ("where the quotes cannot be followed" if self._lost else None))

    def _push(self, frame: str, length: int) -> None:
        self._open.append((frame, self._at))
        self._counts[frame] += 1
        self._at += length

    def _pop(self, length: int) -> None:
        frame, _ = self._open.pop()
        self._counts[frame] -= 1
        self._at += length

    def _skip_plain(self) -> None:
        found = _SPECIAL.search(self._text, self._at + 1)
        self._at = len(self._text) if found is None else found.start()

    def _starts(self, text: str) -> bool:
        return self._text.startswith(text, self._at)

    def _read_code(self) -> None:
        character = self._text[self._at]
        match character:
            case "\\":
                self._skip_escaped("right after a backslash")
            case "'" | '"' | "`":
                self._push(_OPENING[character], 1)
            case "$":
                self._read_dollar()
            case "#" if self._at == 0 or self._text[self._at - 1] in _BEFORE_COMMENT:
                self._skip_to(self._text.find("\n", self._at), "in a comment")
            case "<" if self._starts("<<"):
                self._read_here()
            case "(":
                self._push("arithmetic", 2) if self._starts("((") else self._push("parentheses", 1)
            case ")":
                self._close_parenthesis()
            case "\n" if self._heres:
                self._at += 1
                self._skip_heres()
            case _:
                self._skip_plain()

    def _read_quoted(self, frame: str) -> None:
        character = self._text[self._at]
        if character == "\\" and frame != "single":
            self._skip_escaped(_PLACES[frame])
        elif character == _CLOSING.get(frame):
            self._pop(1)
        elif frame in ("arithmetic", "group") and character in "()":
            self._read_arithmetic(character)
        elif frame not in ("single", "back") and character == "$":
            self._read_dollar()
        elif character in _OPENING and self._opens(frame, character):
            self._push(_OPENING[character], 1)
        else:
            self._skip_plain()

    def _opens(self, frame: str, character: str) -> bool:
        """Returns whether a quote within these quotes begins others."""
        if frame in ("single", "back"):
            return False
        if frame == "double":
            return character == "`"
        return character != "'" or not self._counts["double"]

    def _read_dollar(self) -> None:
        in_code = self._open[-1][0] in _CODE
        if self._starts("$(("):
            self._push("arithmetic", 3)
        elif self._starts("$("):
            self._push("substitution", 2)
        elif self._starts("${"):
            self._push("brace", 2)
        elif self._starts("$'") and in_code:
            end = self._text.find("'", self._at + 2)
            self._lost |= self._text[end - 1] == "\\"  # some shells end it there, others do not
            self._push("single", 2)
        elif self._starts(f"${MARK}") and in_code:
            self._mark("right after a $")
            self._at += 2
        else:
            self._at += 1

    def _read_arithmetic(self, character: str) -> None:
        if character == "(":
            self._push("group", 1)
        elif self._open[-1][0] == "group":
            self._pop(1)
        else:
            ends = self._starts("))")
            self._lost |= not ends  # it may be a subshell: $((ls) | wc)
            self._pop(2 if ends else 1)

    def _close_parenthesis(self) -> None:
        """Ends a substitution or a pair of parentheses. After a `case` in it, the parenthesis may also
        end a pattern."""
        frame, start = self._open[-1]
        if frame == "text":
            self._at += 1
            return
        first = bisect_left(self._cases, start)
        has_case = first < len(self._cases) and self._cases[first] < self._at
        self._lost |= has_case and any(self._counts[name] for name in _PLACES)
        self._pop(1)

    def _skip_escaped(self, place: str) -> None:
        if self._text[self._at + 1 : self._at + 2] == MARK:
            self._mark(place)
        self._at += 2

    def _skip_to(self, end: int, place: str) -> None:
        end = len(self._text) if end < 0 else end
        for _ in range(self._text.count(MARK, self._at, end)):
            self._mark(place)
        self._at = end

    def _read_here(self) -> None:
        found = None if self._starts("<<<") else _HERE.match(self._text, self._at)
        if found is None:
            self._at += 3 if self._starts("<<<") else 2
            return
        word = re.sub(r"[\\'\"]", "", found[2])
        self._heres.append(_Here(word, strips_tabs=bool(found[1]), expands=word == found[2]))
        self._skip_to(found.end(), "in the word that ends a here-document")

    def _skip_heres(self) -> None:
        for here in self._heres:
            start, end = self._at, here.end(self._text, self._at)
            self._skip_to(end, "in a here-document")
            self._lost |= here.expands and _UNEVEN.search(_SIMPLE.sub("", self._text[start:end])) is not None
        self._heres.clear()


class _Here(NamedTuple):
    """Is a here-document that begins with the next line."""

    word: str
    """The line that ends it."""
    strips_tabs: bool
    expands: bool
    """True if its body has expansions. Shells disagree on its end if they are not simple."""

    def end(self, text: str, start: int) -> int:
        while start < len(text):
            after = text.find("\n", start)
            after = len(text) if after < 0 else after
            line = text[start:after]
            start = min(after + 1, len(text))
            if (line.lstrip("\t") if self.strips_tabs else line) == self.word:
                break
        return start
