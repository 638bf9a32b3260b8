"""What a law is, and what breaking one leaves behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True)
class Law:
    """A rule that every history and every row obeys: its name, and one sentence that says it."""

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
    """What a check has found: the words, and the ids of the events concerned."""

    message: str
    events: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LawViolation:
    """One law that one execution breaks, and where."""

    law: str
    execution: int
    message: str
    step: str | None = None
    item: int | None = None
    attempt: int | None = None
    events: tuple[int, ...] = ()


MOST_VIOLATIONS = 1000
"""Violations that one check keeps. The others are only counted, so that memory stays bounded."""


@dataclass(slots=True)
class VerifyTally:
    """What was checked so far, and what was found."""

    executions: int = 0
    events: int = 0
    decisions: int = 0
    """Decisions that were made again."""
    other_versions: Counter[str] = field(default_factory=Counter)
    """Decisions of other versions of the decider: they are counted and not made again."""
    violations: list[LawViolation] = field(default_factory=list)
    not_shown: int = 0
    """Violations beyond those that are kept."""

    def add(self, violation: LawViolation) -> None:
        if len(self.violations) < MOST_VIOLATIONS:
            self.violations.append(violation)
        else:
            self.not_shown += 1
