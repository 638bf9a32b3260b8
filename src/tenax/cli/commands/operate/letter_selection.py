"""Defines the flags that select dead letters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from tenax.cli.backend.protocol import check_id
from tenax.cli.input.since import parse_since
from tenax.model.filters.letters import LetterFilter
from tenax.model.filters.parse import parse_letter_filter
from tenax.model.letters.letter import LetterStatus


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class SelectionFlags:
    """Selects dead letters."""

    execution: Annotated[int | None, Parameter(help="Only letters of the execution with this number.")] = None
    workflow: Annotated[str | None, Parameter(help="Only letters of the workflow with this name.")] = None
    step: Annotated[str | None, Parameter(help="Only letters of the step with this name.")] = None
    failure_class: Annotated[
        str | None, Parameter(name="--class", help="Only failures of this class, such as `timeout`.")
    ] = None
    reason: Annotated[str | None, Parameter(help="Only failures with this reason, such as `http_503`.")] = (
        None
    )
    fingerprint: Annotated[str | None, Parameter(help="Only letters of the group with this fingerprint.")] = (
        None
    )
    since: Annotated[
        str | None,
        Parameter(
            help="Only items that failed since then: a duration back from now (2h) or a time (RFC 3339)."
        ),
    ] = None
    until: Annotated[
        str | None, Parameter(help="Only items that failed before then: a duration or a time, as above.")
    ] = None

    text: Annotated[
        str,
        Parameter(name="--filter", help="A filter of dead letters, such as 'workflow=sync-* text=refused'."),
    ] = ""

    def filter(self, *statuses: LetterStatus) -> LetterFilter:
        """Returns the filter of these flags, for letters with one of these statuses."""
        if self.execution is not None:
            check_id(self.execution)
        return LetterFilter(
            statuses=statuses,
            execution_id=self.execution,
            workflow=self.workflow,
            step=self.step,
            failure_class=self.failure_class,
            reason=self.reason,
            fingerprint=self.fingerprint,
            since=parse_since(self.since),
            until=parse_since(self.until, flag="--until"),
            terms=parse_letter_filter(self.text),
        )


DEFAULT_SELECTION = SelectionFlags()
"""No flag was given."""
