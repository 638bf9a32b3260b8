"""Reads the parts of log rows that are counted. Other fields are skipped, and no objects are made for them."""

from __future__ import annotations

import msgspec
from msgspec import field


class CountedFailure(msgspec.Struct, gc=False):
    class_: str | None = field(name="class", default=None)
    reason: str | None = None


class StartedRetry(msgspec.Struct, gc=False):
    is_retry: bool = False


class CountedData(msgspec.Struct, gc=False):
    workflow: str | None = None
    worker: str | None = None
    retry: StartedRetry | None = None
    failure: CountedFailure | None = None
    seconds: float | None = None
    delay_seconds: float | None = None
    available_at: str | None = None
    held: bool | None = None
    how: str | None = None
    """How the attempt of a compensation ended, if it did not fail."""
    compensation: bool | None = None
    was: str | None = None
    """The state in which the item had ended, before an operator started it again."""
    via: str | None = None


class CountedEvent(msgspec.Struct, gc=False):
    type: str
    step: str | None = None
    item: int | None = None
    attempt: int | None = None
    data: CountedData | None = None


class LogRow(msgspec.Struct, array_like=True, gc=False):
    id: int
    execution_id: int
    at: float
    """The Unix time."""
    events: list[CountedEvent]


read_rows = msgspec.json.Decoder(list[LogRow]).decode
read_raw_rows = msgspec.json.Decoder(list[msgspec.Raw]).decode
_read_row = msgspec.json.Decoder(LogRow).decode


def read_chunk(text: str) -> tuple[list[LogRow], int]:
    """Reads a chunk of rows. Returns the rows, and the number of those that cannot be read."""
    try:
        return read_rows(text), 0
    except msgspec.ValidationError:
        rows, unreadable = [], 0
    for raw in read_raw_rows(text):
        try:
            rows.append(_read_row(raw))
        except msgspec.ValidationError:
            unreadable += 1
    return rows, unreadable
