"""Holds what the rules look at: a workflow that was read and checked, with the place of each key and the policy of each step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tenax.model.definition.tiers import ServerPolicy
from tenax.model.definition.types import SERVER_TYPES
from tenax.model.definition.workflow import Step, Workflow
from tenax.model.policy import Policy
from tenax.model.source.findings import Path, Source
from tenax.policy.retry.resolve import levels_of, resolve_policy


@dataclass(frozen=True)
class LintedStep:
    """Is one step of the file, or the action that undoes one, with its place and its resolved policy."""

    step: Step
    path: Path
    policy: Policy
    given: Mapping[str, Any]
    """The fields of the policy that the file sets for this step: its own, and those of the defaults."""
    own: Mapping[str, Any]
    """Those of them that the step itself sets."""
    is_compensation: bool = False

    @property
    def name(self) -> str:
        return f"the compensation of {self.step.name!r}" if self.is_compensation else repr(self.step.name)

    @property
    def runs_on_workers(self) -> bool:
        return self.step.type not in SERVER_TYPES

    @property
    def attempts(self) -> int | None:
        """The largest number of counted attempts. None means unlimited."""
        return self.policy.max_attempts if self.policy.retryable else 1

    @property
    def is_retried(self) -> bool:
        return self.attempts is None or self.attempts > 1

    def at(self, *keys: str | int) -> Path:
        """Returns the path of a key of the step."""
        return (*self.path, *keys)

    def policy_path(self, *keys: str | int) -> Path:
        """Returns the path of a field of the policy: in the step, or in the defaults."""
        if not keys or keys[0] in self.own:
            return (*self.path, "retry", *keys) if self.own else self.path
        return ("defaults", "retry", *keys) if keys[0] in self.given else self.path


@dataclass(frozen=True)
class LintSubject:
    """Is what the rules look at."""

    workflow: Workflow
    source: Source
    paths: tuple[Path, ...]
    server: ServerPolicy = None

    @cached_property
    def steps(self) -> tuple[LintedStep, ...]:
        """The steps with their compensations, in the order of the file."""
        return tuple(self._linted())

    @property
    def raw(self) -> Mapping[str, Any]:
        """The file as plain data."""
        data: Mapping[str, Any] = self.source.data
        return data

    def raw_step(self, linted: LintedStep) -> Mapping[str, Any]:
        """Returns the keys of a step as the file gives them."""
        found: Any = self.raw
        for key in linted.path:
            found = found[key]
        return found if isinstance(found, Mapping) else {}

    def _linted(self) -> Iterator[LintedStep]:
        for step, path in zip(self.workflow.steps, self.paths, strict=True):
            yield self._one(step, path)
            if step.compensate is not None:
                yield self._one(step.compensate, (*path, "compensate"), is_compensation=True)

    def _one(self, step: Step, path: Path, *, is_compensation: bool = False) -> LintedStep:
        policy = resolve_policy(levels_of(step, self.workflow, self.server))
        own = step.retry if isinstance(step.retry, Mapping) else {}
        shared = self.workflow.retry if isinstance(self.workflow.retry, Mapping) else {}
        given = own if step.retry is False else {**shared, **own}
        return LintedStep(step, path, policy, given, own, is_compensation)


def texts_in(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yields the texts in a value of a file, each with its path below the value."""
    todo: list[tuple[Path, Any]] = [(path, value)]
    while todo:
        at, part = todo.pop()
        if isinstance(part, str):
            yield at, part
        elif isinstance(part, Mapping):
            todo.extend(((*at, str(key)), inner) for key, inner in part.items())
        elif isinstance(part, list | tuple):
            todo.extend(((*at, n), inner) for n, inner in enumerate(part))
