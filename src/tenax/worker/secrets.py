"""Secrets live in the worker's environment: filled in as an attempt starts, scrubbed from all it reports."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any
from urllib.parse import quote

from tenax.model.outcome import Facts, Outcome
from tenax.model.wire import Assignment, Release, SecretSlot

PREFIX = "TENAX_SECRET_"


class SecretMissing(Exception):
    """The definition asks for a secret that this worker does not have."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the secret {name!r} is not set on this worker: set {PREFIX}{name.upper()} in its environment"
        )


class Secrets:
    """The secrets that a worker was started with."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._values = {
            name.removeprefix(PREFIX): v for name, v in environment.items() if name.startswith(PREFIX)
        }
        known = {form: name for name, value in self._values.items() if value for form in _forms(value)}
        # The longest first: one secret may be a part of another.
        self._marks = [(form, f"[secret {known[form]}]") for form in sorted(known, key=len, reverse=True)]

    def fill(self, assignment: Assignment) -> Assignment:
        """The assignment with its secrets in their places. Raises `SecretMissing`."""
        if not assignment.secrets:
            return assignment
        spec = copy.deepcopy(assignment.spec)
        for slot in assignment.secrets:
            self._fill_slot(spec, slot)
        return replace(assignment, spec=spec)

    def scrub_outcome(self, outcome: Outcome) -> Outcome:
        if not self._marks:
            return outcome
        facts = outcome.facts
        if facts is not None:
            facts = Facts(**{f.name: self._scrub(getattr(facts, f.name)) for f in fields(facts)})
        return replace(outcome, result=self._scrub(outcome.result), facts=facts)

    def scrub_release(self, release: Release) -> Release:
        return replace(release, detail=self._scrub(release.detail)) if self._marks else release

    def _fill_slot(self, spec: dict[str, Any], slot: SecretSlot) -> None:
        path, parts = slot
        text = "".join(part if isinstance(part, str) else self._value(part["secret"]) for part in parts)
        place: Any = spec
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = text

    def _value(self, name: str) -> str:
        for spelling in (name, name.upper()):
            if spelling in self._values:
                return self._values[spelling]
        raise SecretMissing(name)

    def _scrub(self, value: Any) -> Any:
        match value:
            case str():
                for form, mark in self._marks:
                    value = value.replace(form, mark)
                return value
            case list():
                return [self._scrub(part) for part in value]
            case tuple():
                return tuple(self._scrub(part) for part in value)
            case dict():
                return {self._scrub(name): self._scrub(part) for name, part in value.items()}
            case _:
                return value


def _forms(value: str) -> set[str]:
    """A secret as it is, and as it looks within a URL."""
    return {value, quote(value, safe=""), quote(value)}
