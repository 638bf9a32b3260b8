"""Defines the methods of the fixture `tenax` that inject failures and results at attempts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from msgspec import ValidationError, convert

from tenax.codec import encode
from tenax.errors import UsageError
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.source.findings import suggest
from tenax.testing.injections import (
    Effect,
    GiveOutcome,
    Injection,
    Injections,
    LoseWorker,
    TimeOut,
    attempts_of,
    call_text,
)
from tenax.testing.submissions import task_name
from tenax.worker.handlers.error_outcomes import outcome_of

__tracebackhide__ = True  # pytest shows the lines of the test, and not those of this module

Target: TypeAlias = str | Callable[..., Any]
"""A step or a task: its name, or the task itself."""
Attempts: TypeAlias = int | Iterable[int] | None
"""One attempt, several, or None for every one."""


class InjectedFailure(Exception):
    """Is the error of `tenax.fail` unless the test gives another one. It is transient."""


class Injecting:
    """Injects failures, results, lost workers and timeouts. Each injection must be reached, or the test fails."""

    def __init__(self, injections: Injections) -> None:
        self._injections = injections

    def fail(
        self,
        target: Target,
        *,
        attempt: Attempts = 1,
        item: int | None = None,
        error: BaseException | type[BaseException] | None = None,
        status_code: int | None = None,
        exit_code: int | None = None,
        facts: Mapping[str, Any] | None = None,
        after_work: bool = False,
        compensation: bool = False,
    ) -> None:
        """Lets attempts of a step or of a task fail: by an exception, an HTTP status, an exit code, or facts as a worker reports them.

        `after_work` lets the attempt do its work first.
        """
        outcome = _failure(error, status_code, exit_code, facts)
        given = {"error": error, "status_code": status_code, "exit_code": exit_code, "facts": facts}
        self._inject(
            "fail",
            target,
            attempt,
            item,
            GiveOutcome(outcome, after_work),
            compensation=compensation,
            **given,
        )

    def succeed(
        self,
        target: Target,
        *,
        result: Any = None,
        attempt: Attempts = None,
        item: int | None = None,
        compensation: bool = False,
    ) -> None:
        """Replaces the work of a step or of a task by this result, in every attempt unless some are named."""
        outcome = Outcome("succeeded", result=encode(result))
        self._inject(
            "succeed", target, attempt, item, GiveOutcome(outcome), compensation=compensation, result=result
        )

    def lose_worker(
        self,
        target: Target,
        *,
        attempt: Attempts = 1,
        item: int | None = None,
        after_work: bool = False,
        compensation: bool = False,
    ) -> None:
        """Loses the worker of an attempt: nobody reports it, and its lease expires.

        The worker is lost before the work begins, or with `after_work` when it is done and not reported yet.
        """
        self._inject(
            "lose_worker",
            target,
            attempt,
            item,
            LoseWorker(after_work),
            compensation=compensation,
            after_work=after_work,
        )

    def time_out(
        self, target: Target, *, attempt: Attempts = 1, item: int | None = None, compensation: bool = False
    ) -> None:
        """Lets attempts run until their timeout, which the clock passes."""
        self._inject("time_out", target, attempt, item, TimeOut(), compensation=compensation)

    def missed_injections(self) -> str | None:
        """Says what was injected and not reached by any attempt. The plugin fails a test for it. Returns None if all was reached."""
        return self._injections.complaint()

    def forget_injections(self) -> None:
        """Takes back what was injected, so that it need not be reached."""
        self._injections.clear()

    def _inject(
        self,
        method: str,
        target: Target,
        attempt: Attempts,
        item: int | None,
        effect: Effect,
        *,
        compensation: bool,
        **given: Any,
    ) -> None:
        name, attempts = task_name(target), attempts_of(attempt)
        shown = attempt if attempt is None or isinstance(attempt, int) else sorted(attempts or ())
        text = call_text(method, name, attempt=shown, item=item, **given, compensation=compensation)
        self._injections.add(Injection(text, name, attempts, item, compensation, effect))


def _failure(
    error: BaseException | type[BaseException] | None,
    status_code: int | None,
    exit_code: int | None,
    facts: Mapping[str, Any] | None,
) -> Outcome:
    """Returns the outcome that a worker would report."""
    if sum(one is not None for one in (error, status_code, exit_code, facts)) > 1:
        raise UsageError(
            "a failure has one cause", remedy="give one of error, status_code, exit_code and facts"
        )
    if status_code is not None:
        return Outcome(
            "failed", facts=Facts(message=f"the answer was {status_code}", status_code=status_code)
        )
    if exit_code is not None:
        return Outcome(
            "failed",
            facts=Facts(message=f"exit code {exit_code}", exit_code=exit_code, result_file="missing"),
        )
    if facts is not None:
        return Outcome("failed", facts=_read_facts(facts))
    raised = InjectedFailure("injected by the test") if error is None else error
    return outcome_of(raised() if isinstance(raised, type) else raised)


def _read_facts(given: Mapping[str, Any]) -> Facts:
    unknown = sorted(set(given) - set(Facts.__struct_fields__))
    if unknown:
        raise UsageError(
            f"a failure has no fact {unknown[0]!r}{suggest(unknown[0], Facts.__struct_fields__)}",
            remedy="the names are those of tenax.model.attempt.outcome.Facts",
        )
    try:
        return convert(dict(given), Facts)
    except ValidationError as fault:
        raise UsageError(f"these are no facts of a failure: {fault}") from None
