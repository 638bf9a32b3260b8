"""Declares the fields of filters. The parser, the error texts and the table of the docs are made from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from tenax.model.letters.letter import LetterStatus
from tenax.model.views import Compensation, ExecutionStatus

Kind = Literal["choice", "name", "word", "text", "time", "parent", "id"]
NO_PARENT = "none"


@dataclass(frozen=True, slots=True)
class Field:
    """Describes one field: the values that it takes, and the executions that it selects."""

    name: str
    kind: Kind
    selects: str
    example: str
    choices: tuple[str, ...] = ()

    @property
    def takes_prefix(self) -> bool:
        return self.kind == "name"

    @property
    def shown(self) -> str:
        """Returns the field as people write it."""
        return "input.PATH" if self.name == INPUT else self.name


INPUT = "input"
"""The only field with a path."""

_DECLARED = (
    Field(
        "status", "choice", "executions in one of these states", "status=failed,running",
        get_args(ExecutionStatus),
    ),
    Field("workflow", "name", "executions of the workflow with this name", "workflow=sync-*"),
    Field(
        "step", "name", "executions that this step has failed, or that have a live item of this step", "step=charge"
    ),
    Field(
        "class", "name",
        "executions that failed with this class, or that have a live item of which an attempt failed with it",
        "class=transient",
    ),
    Field(
        "reason", "name",
        "executions that failed for this reason, or open ones of which an attempt failed for it", "reason=http_5*",
    ),
    Field("queue", "name", "executions with a live item in this queue", "queue=slow"),
    Field("worker", "name", "executions with an item that this worker runs now", "worker=blue-*"),
    Field(
        "label", "name", "executions with a live item that asks for this label, NAME or NAME:VALUE",
        "label=gpu:a100",
    ),
    Field("key", "name", "executions that were submitted with this key", "key=night-2026-*"),
    Field("since", "time", "executions started since then", "since=2h"),
    Field("until", "time", "executions started before then", "until=2026-01-31T12:00:00Z"),
    Field(
        "text", "text",
        "executions whose failure, or the last error of a live item, contains this text in any case",
        'text="connection refused"',
    ),
    Field(
        INPUT, "name",
        "executions whose input has this value at this path, compared as text",
        "input.customer.id=42",
    ),
    Field(
        "compensation", "choice", "failed executions whose compensations are in this state",
        "compensation=failed", get_args(Compensation),
    ),
    Field("parent", "parent", "children of this execution; `none` leaves out children", "parent=none"),
    Field("id", "id", "executions with these numbers", "id=17,18"),
)  # fmt: skip
FIELDS: Mapping[str, Field] = {field.name: field for field in _DECLARED}
"""The fields of filters of executions."""

_OF_LETTERS = (
    Field(
        "status", "choice", "letters with one of these statuses; `open` if the filter does not say",
        "status=open,discarded", get_args(LetterStatus),
    ),
    Field("workflow", "name", "letters of the workflow with this name", "workflow=sync-*"),
    Field("step", "name", "letters of the step with this name", "step=charge"),
    Field("class", "name", "letters whose last failure has this class", "class=timeout"),
    Field("reason", "name", "letters whose last failure has this reason", "reason=http_5*"),
    Field("fingerprint", "word", "letters of the group with this fingerprint", "fingerprint=70621c53fe890d93"),
    Field("id", "id", "letters with these numbers", "id=17,18"),
    Field("execution", "id", "letters of the execution with this number", "execution=17"),
    Field("since", "time", "letters that failed last since then", "since=2h"),
    Field("until", "time", "letters that failed last before then", "until=2026-01-31T12:00:00Z"),
    Field(
        "text", "text", "letters whose last failure has a message with this text in any case",
        'text="connection refused"',
    ),
)  # fmt: skip
OF_EXECUTION = ("queue", "worker", "label", "key", INPUT, "compensation", "parent")
"""The fields that select dead letters by their executions."""
LETTER_FIELDS: Mapping[str, Field] = {
    **{field.name: field for field in _OF_LETTERS},
    **{name: FIELDS[name] for name in OF_EXECUTION},
}
"""The fields of filters of dead letters."""
