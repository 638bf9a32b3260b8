"""One word stands for one concept, as the glossary says: in docs, CLI help, SQL and identifiers of the code.

`BANNED` has a pattern for each word that the glossary bans. `EXCEPTIONS` lists where a word may still stand, and why.
The list may only shrink: an exception that is no longer needed fails a test.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import generate
import pytest
from generate import ROOT

SOURCE = ROOT / "src/tenax"
GLOSSARY = ROOT / "docs/glossary.md"


class Banned(NamedTuple):
    """A word that is not used: how it looks in prose, how it looks as a part of an identifier, and the right word."""

    prose: str | None
    identifier: str | None
    use: str


BANNED: Mapping[str, Banned] = {
    "spread": Banned(
        None, None, "fan-out"
    ),  # also what statistics and jitter have: only the glossary says it
    "explosion": Banned(r"\bexplosions?\b", "explosion", "fan-out"),
    "crowd": Banned(r"\bcrowds?\b", "crowd", "large fan-out"),
    "set aside": Banned(r"\bset aside\b", "set_aside", "held or quarantined"),
    "suspect apart": Banned(r"\bsuspects? apart\b", "suspect_apart", "suspect"),
    "common items": Banned(r"\bcommon items?\b", "common_item", "unrestricted items"),
    "special items": Banned(r"\bspecial items?\b", "special_item", "restricted items"),
    "outlook": Banned(r"\boutlooks?\b", "outlook", "queue snapshot"),
    "gate": Banned(r"(?<!start )\bgates?\b", None, "limit"),
    "straight sessions": Banned(r"\bstraight sessions?\b", "straight", "planned statements"),
    "node_id": Banned(r"\bnode_id\b", "node_id", "step"),
}

EXCEPTIONS: Mapping[str, Mapping[str, str]] = {
    "gate": {
        "lock_limits.sql": "the key of a lock, which servers of two versions must share",
    },
    "node_id": dict.fromkeys(
        (
            "conditions.md",
            "workflow-file.md",
            "decisions-explained.md",
            "conditions.py",
            "templates.py",
            "decide.py",
            "decision.py",
            "parts.py",
            "decisions.py",
            "decide.py",
            "until.py",
            "sql.md",  # the column of another system
            "schema.sql",
        ),
        "a variable of conditions, and of the recorded decisions that they were part of",
    ),
}
"""For each word the names of the files where it may stand, and why. Decisions of the past keep the words of their time."""

HISTORY = ("docs/decisions/", "CHANGELOG.md", "docs/glossary.md", "src/tenax/sql/migrations/")


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _prose_of_python(path: Path) -> str:
    """Returns comments and texts of a module: docstrings, help, messages."""
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)}
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline)
    return "\n".join(token.string for token in tokens if token.type in kinds)


def _identifiers_of_python(path: Path) -> str:
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline)
    return "\n".join({path.stem, *(token.string for token in tokens if token.type == tokenize.NAME)})


def _prose() -> Iterator[tuple[str, str]]:
    for page in generate.pages():
        yield _name(page), page.read_text("utf-8")
    for path in sorted(SOURCE.rglob("*.py")):
        yield _name(path), _prose_of_python(path)
    for path in sorted(SOURCE.rglob("*.sql")):
        yield _name(path), path.read_text("utf-8")


def _identifiers() -> Iterator[tuple[str, str]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield _name(path), _identifiers_of_python(path)
    for path in sorted(SOURCE.rglob("*.sql")):
        yield _name(path), f"{path.stem}\n{path.read_text('utf-8')}"


def _found(word: str) -> set[str]:
    banned = BANNED[word]
    found: set[str] = set()
    if banned.prose is not None:
        pattern = re.compile(banned.prose, re.IGNORECASE)
        found |= {name for name, text in _TEXTS if pattern.search(text)}
    if banned.identifier is not None:
        found |= {name for name, text in _NAMES if banned.identifier in text.lower()}
    return {name for name in found if not name.startswith(HISTORY)}


_TEXTS = list(_prose())
_NAMES = list(_identifiers())


@pytest.mark.parametrize("word", BANNED)
def test_a_banned_word_is_not_used(word: str) -> None:
    allowed = EXCEPTIONS.get(word, {})
    found = {name for name in _found(word) if Path(name).name not in allowed}
    assert sorted(found) == [], f"use: {BANNED[word].use}"


@pytest.mark.parametrize("word", EXCEPTIONS)
def test_no_exception_is_left_over(word: str) -> None:
    assert set(EXCEPTIONS[word]) - {Path(name).name for name in _found(word)} == set(), (
        "the word is gone: remove the exception"
    )


def test_the_glossary_bans_these_words() -> None:
    rows = [
        line.split("|")[-2] for line in GLOSSARY.read_text("utf-8").splitlines() if line.startswith("| **")
    ]
    listed = {word.strip().strip("`") for row in rows for word in row.split(",") if word.strip()}
    assert listed == set(BANNED)


def test_the_glossary_is_short_and_says_each_word_once() -> None:
    words = re.findall(r"^\| \*\*(.+?)\*\*", GLOSSARY.read_text("utf-8"), re.MULTILINE)
    assert 40 <= len(words) <= 75
    assert len(words) == len(set(words))


def test_a_banned_word_would_be_found() -> None:
    assert re.search(str(BANNED["crowd"].prose), "a crowd of items")
    assert "outlook" in "class _Outlook".lower()


_FENCE = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
_LONGEST_LINE = 120
_TARGET = re.compile(r"\]\([^)]*\)")


@pytest.mark.parametrize("page", generate.pages(), ids=_name)
def test_lines_of_prose_are_short(page: Path) -> None:
    """Tables and code have lines of their own length, and targets of links do not count."""
    text = generate.BLOCK.sub("", _FENCE.sub("", page.read_text("utf-8")))
    shown = [_TARGET.sub("]", line) for line in text.splitlines()]
    long = [line for line in shown if len(line) > _LONGEST_LINE and not line.startswith(("|", "![", "#"))]
    assert long == []


_WITHOUT_SUBJECT = re.compile(r"(?:^|[.!?] )(?:Who|Whoever|Those that|Of what|What) ")


@pytest.mark.parametrize(
    "page", [page for page in generate.pages() if "decisions/" not in _name(page)], ids=_name
)
def test_no_sentence_starts_without_its_subject(page: Path) -> None:
    """Titles, cells of tables and lines that introduce a list are no sentences."""
    text = generate.BLOCK.sub("", _FENCE.sub("", page.read_text("utf-8")))
    lines = [line for line in text.splitlines() if not line.startswith(("#", "|")) and not line.endswith(":")]
    assert [line for line in lines if _WITHOUT_SUBJECT.search(line)] == []
