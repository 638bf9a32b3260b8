"""One mapping of a definition, read key by key: each reader checks the type, and reports what does not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenax.model.durations import parse_duration
from tenax.model.names import name_fault
from tenax.model.parse.findings import NOT_YET, Findings, Path, name_kind, shorten, suggest

_NO_TEMPLATE = "a template cannot stand here: the value must be known before anything runs; write it out"


class Fields:
    """The keys of one mapping. A key that is missing, or wrong (which is reported), reads as the default."""

    __slots__ = ("findings", "path", "values")

    def __init__(self, values: Mapping[str, Any], path: Path, findings: Findings) -> None:
        self.values = values
        self.path = path
        self.findings = findings

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def report(self, key: str, message: str, *below: str | int) -> None:
        self.findings.add((*self.path, key, *below), message)

    def miss(self, key: str, what: str) -> None:
        """Report a key that must be there."""
        self.findings.add(self.path, f"`{key}` is missing: {what}")

    def refuse_unknown(self, known: Sequence[str], *, within: str, later: Sequence[str] = ()) -> None:
        """Report every key that is not known: none is ever read over in silence."""
        for key in self.values:
            if key in later:
                self.report(key, f"`{key}` {NOT_YET}")
            elif key not in known:
                self.report(key, f"unknown key `{shorten(key)}` {within}{suggest(key, known)}")

    def text(self, key: str, default: str | None = None) -> str | None:
        """Text that is not empty."""
        if key not in self.values:
            return default
        value = self.values[key]
        if not isinstance(value, str):
            self.expect("text", key)
            return default
        if not value.strip():
            self.report(key, "must not be empty")
            return default
        return value

    def label(self, key: str) -> str | None:
        """Text, or a number taken as it was written (`1.10` is not 1.1)."""
        if key in self.values and _is_number(self.values[key]):
            return self.findings.source.written((*self.path, key))
        return self.text(key)

    def name(self, key: str, default: str | None = None) -> str | None:
        """A name: letters, digits, `_` and `-`."""
        value = self.text(key, default)
        if value is None or key not in self.values or value != self.values[key]:
            return value
        if (fault := name_fault(value)) is not None:
            self.report(key, f"`{shorten(value)}` {fault}")
            return default
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        value = self.values.get(key, default)
        if isinstance(value, bool):
            return value
        self.expect("true or false", key)
        return default

    def whole(self, key: str, allowed: range, default: int) -> int:
        value = self.values.get(key, default)
        if self.refuse_template(key):
            return default
        if isinstance(value, bool) or not isinstance(value, int):
            self.expect(f"a whole number from {allowed[0]} to {allowed[-1]}", key)
        elif value not in allowed:
            self.report(key, f"must be from {allowed[0]} to {allowed[-1]}, found {value}")
        else:
            return value
        return default

    def duration(self, key: str) -> float | None:
        """Seconds, more than none."""
        if key not in self.values:
            return None
        value = self.values[key]
        if self.refuse_template(key):
            return None
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            self.expect("a duration such as 30s, 5m or a number of seconds", key)
            return None
        try:
            seconds = parse_duration(value)
        except ValueError as error:
            self.report(key, str(error))
            return None
        if seconds <= 0:
            self.report(key, f"must be longer than zero, found {shorten(str(value))}")
            return None
        return seconds

    def mapping(self, key: str) -> dict[str, Any] | None:
        if key not in self.values:
            return None
        value = self.values[key]
        if isinstance(value, dict):
            return value
        self.expect("a mapping", key)
        return None

    def text_mapping(self, key: str) -> dict[str, str]:
        """A mapping of text to text; numbers are taken as they were written."""
        below = Fields(self.mapping(key) or {}, (*self.path, key), self.findings)
        texts: dict[str, str] = {}
        for name, value in below.values.items():
            text = self.findings.source.written((*below.path, name)) if _is_number(value) else value
            if isinstance(text, str):
                texts[name] = text
            else:
                below.expect("text", name)
        return texts

    def text_list(self, key: str) -> list[str]:
        """A list of text that is not empty; numbers are taken as they were written."""
        texts: list[str] = []
        for index, value in enumerate(self.values[key]):
            text = self.findings.source.written((*self.path, key, index)) if _is_number(value) else value
            if isinstance(text, str):
                texts.append(text)
            else:
                self.expect("text", key, index)
        if not self.values[key]:
            self.report(key, "must not be empty")
        return texts

    def refuse_template(self, key: str) -> bool:
        """Whether a template stands where the value itself must; it is reported."""
        if not is_template(self.values.get(key)):
            return False
        self.report(key, _NO_TEMPLATE)
        return True

    def below(self, key: str) -> Fields | None:
        """The mapping that stands at `key`, to be read in its turn."""
        values = self.mapping(key)
        return None if values is None else Fields(values, (*self.path, key), self.findings)

    def expect(self, wanted: str, key: str, *below: str | int) -> None:
        """Report a value of the wrong type. Where text was wanted and YAML read something else, say how to write it."""
        path = (*self.path, key, *below)
        self.findings.add(
            path, describe_mismatch(wanted, self._value(key, *below), self.findings.source.written(path))
        )

    def _value(self, key: str, *below: str | int) -> Any:
        value: Any = self.values[key]
        for step in below:
            value = value[step]
        return value


def is_template(value: Any) -> bool:
    return isinstance(value, str) and "{{" in value


def describe_mismatch(wanted: str, found: Any, written: str | None) -> str:
    if isinstance(found, list | dict) or not written:
        return f"expected {wanted}, found {name_kind(found)}"
    message = f"expected {wanted}, found {name_kind(found)} ({shorten(written)})"
    if wanted.startswith("text"):
        message += f': quote it: "{shorten(written)}"'
    return message


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
