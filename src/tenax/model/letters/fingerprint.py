"""Computes the fingerprint of a failure: failures of the same cause have the same fingerprint, whatever ids, times and
paths their messages name."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

MESSAGE_READ = 1000
"""Characters of a message that its shape is made from. It bounds the time of every expression below."""
SHAPE_KEPT = 300
"""Characters of a shape that count."""
SHAPES_REMEMBERED = 1024
"""Messages whose shape is remembered: when a dependency is down, thousands of failures have the same message."""
FINGERPRINT_LENGTH = 16
"""Hexadecimal digits of a fingerprint."""

_HEX = r"[0-9a-fA-F]"
_SPECIFICS = (
    # The order matters: the first alternative that fits at a place is taken.
    ("value", r"(?<!\w)'[^'\n]{0,300}'(?!\w)|\"[^\"\n]{0,300}\"|`[^`\n]{0,300}`"),
    ("url", r"(?<![\w+.-])[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s'\"<>]+"),
    ("mail", r"(?<![\w.+-])[\w.+-]{1,100}@[\w-]{1,100}(?:\.[\w-]{1,100})+"),
    ("id", rf"\b{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}\b"),
    (
        "time",
        r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?|\b\d\d:\d\d:\d\d(?:[.,]\d{1,9})?",
    ),
    ("address", r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b|(?<![\w:])(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{1,4}(?![\w:])"),
    ("path", r"(?<![\w/])(?:~|\.{1,2})?(?:/[\w.@%+=,~-]+)+/?|\b[A-Za-z]:\\[^\s'\"]+|(?<![\w.@%+=~/-])[\w.@%+=~-]{1,100}(?:/[\w.@%+=,~-]+){2,}/?"),
    ("hash", rf"\b(?:0[xX]{_HEX}+|(?=[a-fA-F]{{0,40}}\d){_HEX}{{8,}})\b"),
    ("token", r"\b(?=[A-Za-z]{0,40}\d{1,40}[A-Za-z])(?=[A-Za-z\d]{0,60}[A-Za-z]\d)[A-Za-z\d]{6,}\b"),
    ("number", r"(?:(?<!\w)[-+])?\d+(?:[.,]\d+)*(?:[eE][-+]?\d{1,4})?"),
)  # fmt: skip
_WORDS = {
    **{name: f"<{name}>" for name, _ in _SPECIFICS},
    "mail": "<address>",
    # A hash may happen to have no letters, and an id no digits between them: all of these look like numbers at times.
    **dict.fromkeys(("id", "hash", "token", "number"), "<n>"),
}
_SPECIFIC = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _SPECIFICS))
_REPEATED = re.compile(r"(<[a-z]+>)(?:[\s,;|]{1,5}\1)+")
"""A list of values: its length says as little as the values."""
_SPACE = re.compile(r"\s+")


def fingerprint_of(failure_class: str, reason: str, step: str, message: str) -> str:
    """Returns the fingerprint of a failure: a hash of its class, its reason, its step and the shape of its message."""
    text = "\0".join((failure_class, reason, step, shape_of(message)))
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=FINGERPRINT_LENGTH // 2)
    return digest.hexdigest()


def shape_of(message: str) -> str:
    """Returns a message without the values that differ from case to case: numbers, ids, hashes, paths, quoted values,
    addresses and times."""
    return _shape_of(message[:MESSAGE_READ])


@lru_cache(maxsize=SHAPES_REMEMBERED)
def _shape_of(message: str) -> str:
    shape = _SPECIFIC.sub(_placeholder, message)
    shape = _REPEATED.sub(r"\1", _SPACE.sub(" ", shape).strip())
    return shape[:SHAPE_KEPT]


def _placeholder(found: re.Match[str]) -> str:
    return _WORDS[found.lastgroup or ""]
