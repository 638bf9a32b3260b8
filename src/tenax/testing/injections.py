"""Defines what a test injects at attempts: failures, results, lost workers and timeouts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tenax.model.attempt.outcome import Outcome
from tenax.model.wire import Assignment

_SHOWN_ATTEMPTS = 20
"""Attempts that a message lists."""


@dataclass(frozen=True, slots=True)
class GiveOutcome:
    """Ends the attempt with this outcome, in the place of its work or after it."""

    outcome: Outcome
    after_work: bool = False


@dataclass(frozen=True, slots=True)
class LoseWorker:
    """Lets the lease expire without a report. The work is not begun, or it is done and its report is lost."""

    after_work: bool = False


@dataclass(frozen=True, slots=True)
class TimeOut:
    """Lets the attempt run until its timeout."""


Effect: TypeAlias = GiveOutcome | LoseWorker | TimeOut


@dataclass(slots=True)
class Injection:
    """Is an effect, and the attempts that it applies to."""

    call: str
    """The call of the test, for messages."""
    name: str
    """The name of a step or of a task, with or without its module."""
    attempts: frozenset[int] | None
    """None for every attempt."""
    item: int | None
    compensation: bool
    effect: Effect
    reached: set[int] = field(default_factory=set)

    def matches(self, assignment: Assignment) -> bool:
        return (
            (self.attempts is None or assignment.attempt in self.attempts)
            and (self.item is None or assignment.item == self.item)
            and self.compensation == assignment.compensates
            and self.name in _names_of(assignment)
        )

    def missing(self) -> str | None:
        """Says what was not reached, or returns None."""
        if self.attempts is None:
            return None if self.reached else f"{self.call} was never reached"
        missed = sorted(self.attempts - self.reached)
        if not missed:
            return None
        if not self.reached:
            return f"{self.call} was never reached"
        return f"{self.call} was not reached at attempt {_listed(missed)}"


class Injections:
    """Holds the injections of a test. The last one for an attempt counts, and one for certain attempts before one for all."""

    def __init__(self) -> None:
        self._all: list[Injection] = []
        self._begun: list[str] = []
        self._more = 0

    def add(self, injection: Injection) -> None:
        self._all.append(injection)

    def clear(self) -> None:
        self._all.clear()

    def choose(self, assignment: Assignment) -> Effect | None:
        """Returns the effect on an attempt that begins, and notes that it was reached."""
        self._note(assignment)
        found = [one for one in self._all if one.matches(assignment)]
        chosen = next(
            (one for one in reversed(found) if one.attempts is not None), found[-1] if found else None
        )
        if chosen is None:
            return None
        chosen.reached.add(assignment.attempt)
        return chosen.effect

    def complaint(self) -> str | None:
        """Says which injections were not reached and which attempts began, or returns None if all were reached."""
        missing = [words for one in self._all if (words := one.missing()) is not None]
        if not missing:
            return None
        more = f", and {self._more} more" if self._more else ""
        begun = f"{', '.join(self._begun)}{more}" if self._begun else "none"
        remedy = "Correct the name, the attempt or the item; steps of the server (sleep, wait, workflow) run on no worker"
        return "\n".join([*missing, f"attempts that began on a worker: {begun}", remedy])

    def _note(self, assignment: Assignment) -> None:
        if len(self._begun) >= _SHOWN_ATTEMPTS:
            self._more += 1
            return
        item = "" if assignment.item is None else f"[{assignment.item}]"
        undoing = "compensation of " if assignment.compensates else ""
        task = assignment.spec.get("task")
        of_task = f" ({task})" if isinstance(task, str) else ""
        self._begun.append(f"{undoing}{assignment.step}{item}{of_task} attempt {assignment.attempt}")


def attempts_of(given: int | Iterable[int] | None) -> frozenset[int] | None:
    """Returns the attempts that a test names: one, several, or None for all. Raises ValueError for a number below 1."""
    if given is None:
        return None
    found = frozenset([given] if isinstance(given, int) else given)
    if not found or min(found) < 1:
        raise ValueError(f"attempts are numbered from 1, not {_listed(sorted(found)) or 'empty'}")
    return found


def call_text(method: str, name: str, **given: Any) -> str:
    """Writes a call as the test wrote it, for messages."""
    return f"tenax.{method}({', '.join([repr(name), *_arguments(given)])})"


def _arguments(given: dict[str, Any]) -> Iterator[str]:
    return (f"{name}={value!r}" for name, value in given.items() if value not in (None, False))


def _names_of(assignment: Assignment) -> set[str]:
    names = {assignment.step}
    task = assignment.spec.get("task")
    if isinstance(task, str):
        names |= {task, task.rpartition(":")[2], task.rpartition(".")[2]}
    return names


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))
