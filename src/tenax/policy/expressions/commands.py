"""The command of a process step, where it is a text for `sh -c`: each template in it becomes one quoted word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tenax.policy.expressions.compiler import Expression
from tenax.policy.expressions.shell_words import MARK, misplaced_words, quote_word
from tenax.policy.expressions.values import EvaluationError, as_text

QUOTED = {"quote": "word"}
"""In the slot of a secret: the worker quotes it as one word."""
_WHY = "its value is quoted already, as one word of the shell"
_REMEDY = (
    "drop the quotes, pass it by `env`, write the command as a list, or end it in `| raw` for the plain text"
)
_SINGLE = (
    "the command is one single template, so it must give a list of arguments; "
    "for a text that the shell runs, end it in `| raw`"
)


class WordError(ValueError):
    """A template that cannot stand where it stands, or gives what it cannot give there."""


@dataclass(frozen=True, slots=True)
class Word:
    """A template in a text for the shell, and the texts that it stands between."""

    content: Expression | dict[str, str]
    """A secret is a mapping: the worker knows its value."""
    before: str = ""
    following: str = ""
    single: bool = False
    """The command is nothing but this template."""
    fault: str | None = None
    """Why it cannot stand here. New definitions are refused for it; of a stored one, the attempt fails."""

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
"""A plain text, a value or a secret as it is (`| raw`), or a word."""


def literal_braces(content: Expression | dict[str, str]) -> str | None:
    """Returns the text of a template that only writes braces: `{{ '{{' }}` is how a file writes them."""
    if isinstance(content, dict) or content.reads:
        return None
    try:
        value = content.evaluate({})
    except EvaluationError:
        return None
    return value if isinstance(value, str) and value and set(value) <= set("{}%#") else None


def place_words(pieces: Sequence[CommandPiece]) -> list[CommandPiece]:
    """Tells each word what it stands between, and whether it can stand there."""
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
    """As the shell text is read: a mark for a word, and some letter for what is wanted as it is."""
    if isinstance(piece, str):
        return piece.replace(MARK, " ")
    return MARK if isinstance(piece, Word) else "x"
