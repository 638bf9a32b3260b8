"""Renders commands of process steps that are texts for `sh -c`. Each template in them becomes one quoted word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tenax.policy.expressions.compiler import Expression
from tenax.policy.expressions.shell_words import MARK, misplaced_words, quote_word
from tenax.policy.expressions.values import EvaluationError, as_text

QUOTED = {"quote": "word"}
"""Is set in the slot of a secret that the worker must quote as one word."""
_WHY = "its value is quoted already, as one word of the shell"
_REMEDY = (
    "drop the quotes, pass it by `env`, write the command as a list, or end it in `| raw` for the plain text"
)
_SINGLE = (
    "the command is one single template, so it must give a list of arguments; "
    "for a text that the shell runs, end it in `| raw`"
)


class WordError(ValueError):
    """Says that a template is not allowed in its place, or that its value is not."""


@dataclass(frozen=True, slots=True)
class Word:
    """Is a template in a text for the shell, with the texts around it."""

    content: Expression | dict[str, str]
    """The expression. A secret is a mapping, because only the worker knows its value."""
    before: str = ""
    following: str = ""
    single: bool = False
    """True if the command consists of this template alone."""
    fault: str | None = None
    """Why the template must not stand here. A new definition is refused for it. For a stored definition the attempt fails."""

    def rendered(self, value: Any) -> str | list[str]:
        """Returns the value as one quoted word. The value of a single template is the list of arguments."""
        if self.fault is not None:
            raise WordError(self.fault)
        if not self.single:
            return quote_word(as_text(value), self.before, self.following)
        if not isinstance(value, list):
            raise WordError(_SINGLE)
        return [as_text(argument) for argument in value]

    def secret(self) -> dict[str, str]:
        """Returns the part of a secret slot."""
        if self.fault is not None:
            raise WordError(self.fault)
        assert isinstance(self.content, dict)
        return self.content | QUOTED


CommandPiece = str | Expression | dict[str, str] | Word
"""A plain text, a value or a secret to insert unquoted (`| raw`), or a word."""


def literal_braces(content: Expression | dict[str, str]) -> str | None:
    """Returns the text of a template that only writes braces, such as `{{ '{{' }}`."""
    if isinstance(content, dict) or content.reads:
        return None
    try:
        value = content.evaluate({})
    except EvaluationError:
        return None
    return value if isinstance(value, str) and value and set(value) <= set("{}%#") else None


def place_words(pieces: Sequence[CommandPiece]) -> list[CommandPiece]:
    """Gives each word the texts around it, and sets `fault` if it must not stand there."""
    solid = [piece for piece in pieces if not (isinstance(piece, str) and not piece.strip())]
    if len(solid) == 1 and isinstance(solid[0], Word):
        secret = isinstance(solid[0].content, dict)
        return [replace(solid[0], single=True, fault=_SINGLE if secret else None)]
    places = iter(misplaced_words("".join(_shown(piece) for piece in pieces)))
    return [
        _placed(piece, pieces, index, next(places)) if isinstance(piece, Word) else piece
        for index, piece in enumerate(pieces)
    ]


def _placed(word: Word, pieces: Sequence[CommandPiece], index: int, place: str | None) -> Word:
    return replace(
        word,
        before=_plain(pieces[index - 1 : index]),
        following=_plain(pieces[index + 1 : index + 2]),
        fault=None if place is None else f"a template cannot stand {place}: {_WHY}; {_REMEDY}",
    )


def _plain(pieces: Sequence[CommandPiece]) -> str:
    return pieces[0] if pieces and isinstance(pieces[0], str) else ""


def _shown(piece: CommandPiece) -> str:
    """Returns a piece as the shell reader sees it: a mark for a word, and a letter for an unquoted value."""
    if isinstance(piece, str):
        return piece.replace(MARK, " ")
    return MARK if isinstance(piece, Word) else "x"
