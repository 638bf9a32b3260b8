"""Defines laws, and the violations that checks find."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True)
class Law:
    """Is a rule that every history and every row obeys: its name, its sentence, and its check."""

    name: str
    sentence: str
    check: Callable[..., Any]

    def __call__(self, *facts: Any) -> Any:
        return self.check(*facts)


LAWS: dict[str, Law] = {}
"""Every law by its name, in the order of the docs."""


def law(name: str, sentence: str) -> Callable[[Callable[..., Any]], Law]:
    """Registers a function as the check of a law."""

    def register(check: Callable[..., Any]) -> Law:
        assert name not in LAWS, name
        LAWS[name] = Law(name, sentence, check)
        return LAWS[name]

    return register


class Breach(NamedTuple):
    """Holds a finding of a check: its message, and the ids of the events concerned."""

    message: str
    events: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LawViolation:
    """Describes one violation of a law by an execution, and its place."""

    law: str
    execution: int
    message: str
    step: str | None = None
    item: int | None = None
    attempt: int | None = None
    events: tuple[int, ...] = ()


MOST_VIOLATIONS = 1000
"""The most violations that one check keeps. Further ones are only counted, so that memory stays bounded."""


@dataclass(slots=True)
class VerifyTally:
    """Counts what was checked, and keeps the violations found."""

    executions: int = 0
    events: int = 0
    decisions: int = 0
    """Decisions that were repeated."""
    other_versions: Counter[str] = field(default_factory=Counter)
    """Decisions of other versions of the decider. They are counted and not repeated."""
    violations: list[LawViolation] = field(default_factory=list)
    not_shown: int = 0
    """Violations beyond those that are kept."""

    def add(self, violation: LawViolation) -> None:
        if len(self.violations) < MOST_VIOLATIONS:
            self.violations.append(violation)
        else:
            self.not_shown += 1
