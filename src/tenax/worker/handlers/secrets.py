"""Fills secrets, which are environment variables of the worker, into attempts and scrubs them from their reports."""

from __future__ import annotations

import base64
import copy
import dataclasses
import json
import re
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, quote_plus

import msgspec

from tenax.credentials.private_variables import SECRET_PREFIX as PREFIX
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.shell import always_quoted
from tenax.model.wire import Assignment, Release, SecretSlot
from tenax.worker.handlers.json_values import storable_text

MIN_LENGTH = 6
"""Characters of a secret that is scrubbed from every report. A shorter secret occurs in too many harmless texts, so it is scrubbed
only from the reports of attempts that used it."""
MIN_BASE64_LENGTH = 8
"""Characters of base64 below which an encoded secret is not searched for. Fewer occur in too many harmless texts."""
_URL_BASE64 = str.maketrans("+/", "-_")
_ESCAPED = re.compile("%[0-9A-F]{2}")
# Characters that the HTTP client does not escape. It takes a % for the start of an existing escape.
_URL_SAFE = (
    "!$%&'()*+,-./:;=@[\\]^_|~",  # in a path
    "!$%&'()*+,-./:;=?@[\\]^_`{|}~",  # in a query
    "!$%&'()*+,-.:_~",  # in user and password
)


class SecretMissing(Exception):
    """The definition uses a secret that this worker does not have."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the secret {name!r} is not set on this worker: set {PREFIX}{name.upper()} in its environment"
        )


class Secrets:
    """Holds the secrets with which a worker was started."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._values = {
            name.removeprefix(PREFIX): v for name, v in environment.items() if name.startswith(PREFIX)
        }
        self._long_enough = frozenset(
            name for name, value in self._values.items() if len(value) >= MIN_LENGTH
        )
        self._scrubbers: dict[frozenset[str], _Scrubber] = {}

    def fill(self, assignment: Assignment) -> Assignment:
        """Returns the assignment with its secrets filled in. Raises `SecretMissing`."""
        if not assignment.secrets:
            return assignment
        spec = copy.deepcopy(assignment.spec)
        for slot in assignment.secrets:
            self._fill_slot(spec, slot)
        return msgspec.structs.replace(assignment, spec=spec)

    def scrub_outcome(self, outcome: Outcome, assignment: Assignment) -> Outcome:
        """Scrubs all secrets from the facts of an outcome, and from its result only the secrets that the attempt used.

        A result is data with which other steps compute. A word in it that happens to equal another secret must stay.
        """
        if assignment.callback is not None:
            # The receipt of an async step authorises its callback. Other receipts authorise nothing, and may stay in a result.
            receipt = _Scrubber.of_receipt(assignment.receipt)
            outcome = receipt.outcome(outcome, facts=receipt)
        if not self._values:
            return outcome
        used = self._used(assignment)
        return self._scrubber(used).outcome(outcome, facts=self._scrubber(self._long_enough | used))

    def scrub_release(self, release: Release, assignment: Assignment) -> Release:
        scrubber = self._scrubber(self._long_enough | self._used(assignment))
        return dataclasses.replace(release, detail=scrubber.value(release.detail))

    def scrub_traceback(self, error: BaseException, assignment: Assignment) -> str:
        """Returns the traceback of an error for the worker's own log."""
        text = "".join(traceback.format_exception(error))
        return str(self._scrubber(self._long_enough | self._used(assignment)).value(text))

    def scrubber_of(self, assignment: Assignment) -> Callable[[str], str]:
        """Returns what scrubs a text that an attempt has printed."""
        scrubber = self._scrubber(self._long_enough | self._used(assignment))
        if assignment.callback is None:
            return scrubber.text
        receipt = _Scrubber.of_receipt(assignment.receipt)
        return lambda text: receipt.text(scrubber.text(text))

    def _used(self, assignment: Assignment) -> frozenset[str]:
        named = (
            part["secret"] for _, parts in assignment.secrets for part in parts if isinstance(part, dict)
        )
        return frozenset(name for asked in named if (name := self._name(asked)) is not None)

    def _scrubber(self, names: frozenset[str]) -> _Scrubber:
        """Returns the scrubber of these secrets. Scrubbers are cached, since the same few steps run again and again."""
        scrubber = self._scrubbers.get(names)
        if scrubber is None:
            scrubber = _Scrubber.of({name: self._values[name] for name in sorted(names)})
            self._scrubbers[names] = scrubber
        return scrubber

    def _fill_slot(self, spec: dict[str, Any], slot: SecretSlot) -> None:
        path, parts = slot
        text = "".join(part if isinstance(part, str) else self._filled(part) for part in parts)
        place: Any = spec
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = text

    def _filled(self, part: Mapping[str, str]) -> str:
        value = self._value(part["secret"])
        return always_quoted(value) if part.get("quote") == "word" else value

    def _value(self, name: str) -> str:
        known = self._name(name)
        if known is None:
            raise SecretMissing(name)
        return self._values[known]

    def _name(self, asked: str) -> str | None:
        return next((spelling for spelling in (asked, asked.upper()) if spelling in self._values), None)


@dataclass(frozen=True, slots=True)
class _Scrubber:
    pattern: re.Pattern[str] | None
    """Matches every form of every secret. None if there is nothing to search for."""
    words: Mapping[str, str]
    """The replacement of every form of every secret."""

    @classmethod
    def of(cls, secrets: Mapping[str, str]) -> _Scrubber:
        words = {form: f"[secret {name}]" for name, value in secrets.items() for form in _forms(value)}
        # The longest form comes first, because one secret may be a part of another.
        forms = sorted(words, key=len, reverse=True)
        return cls(re.compile("|".join(map(re.escape, forms))) if forms else None, words)

    @classmethod
    def of_receipt(cls, receipt: str) -> _Scrubber:
        return cls(re.compile(re.escape(receipt)), {receipt: "[receipt]"})

    def outcome(self, outcome: Outcome, *, facts: _Scrubber) -> Outcome:
        """Returns the outcome with its result scrubbed by this scrubber, and its facts by the other one."""
        told = None if outcome.facts is None else facts.facts(outcome.facts)
        return msgspec.structs.replace(outcome, result=self.value(outcome.result), facts=told)

    def facts(self, facts: Facts) -> Facts:
        """Scrubs the texts. The other fields are published words, numbers and names of types."""
        return msgspec.structs.replace(
            facts,
            message=self.value(facts.message),
            dependency=self.value(facts.dependency),
            stderr_tail=self.value(facts.stderr_tail),
            traceback=self.value(facts.traceback),
            data=self.value(facts.data),
            request=self.value(facts.request),
        )

    def text(self, text: str) -> str:
        return text if self.pattern is None else self.pattern.sub(lambda found: self.words[found[0]], text)

    def value(self, value: Any) -> Any:
        if self.pattern is None:
            return value
        match value:
            case str():
                return self.text(value)
            case int() if not isinstance(value, bool):
                return self.words.get(str(value), value)
            case list():
                return [self.value(part) for part in value]
            case tuple():
                return tuple(self.value(part) for part in value)
            case dict():
                return {self.value(name): self.value(part) for name, part in value.items()}
            case _:
                return value


def _forms(value: str) -> set[str]:
    """Returns the forms of a secret: as it is, and as it looks in a URL, in JSON, in base64, in Python's repr and in a shell.

    If a secret has several lines, the forms of each line are included.
    """
    lines = (line for line in map(str.strip, value.splitlines()) if len(line) >= MIN_LENGTH)
    return set().union(*map(_encodings, {value, *lines})) - {""}


def _encodings(text: str) -> Iterable[str]:
    # Bytes of the environment that are not UTF-8 are lone surrogates here.
    yield from (text, storable_text(text), quote_plus(text, errors="surrogateescape"))
    for safe in ("", "/", *_URL_SAFE):
        quoted = quote(text, safe=safe, errors="surrogateescape")
        yield from (quoted, _ESCAPED.sub(lambda found: found[0].lower(), quoted))
    if len(text) >= MIN_LENGTH:
        yield text.lower()  # within the host of a URL
    data = text.encode(errors="surrogateescape")
    yield repr(data)[2:-1]  # as the HTTP client quotes a header that it refuses
    yield from _base64_forms(data)
    # The forms that a shell prints with `set -x`: bash writes a quote as '\\'', and dash uses double quotes.
    yield from (always_quoted(text)[1:-1], text.replace("'", "'\\''"))
    yield from (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1])


def _base64_forms(data: bytes) -> Iterable[str]:
    """Yields the base64 forms of a secret that is a part of longer encoded data, such as `user:password` of a URL.

    Three bytes make four characters, so a secret has three forms, depending on its position. The characters at both ends
    also hold bits of the neighbouring bytes, and are left out.
    """
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + data)
        first, last = -(-before * 4 // 3), (before + len(data)) * 4 // 3
        form = encoded[first:last].decode()
        if len(form) >= MIN_BASE64_LENGTH:
            yield from (form, form.translate(_URL_BASE64))
