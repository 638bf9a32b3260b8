"""Holds counts of the log: by minute, by what happened, and the failures that are being retried."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import msgspec

MOST_ATTEMPT = 20
"""The highest attempt number that is counted. All higher numbers are counted under it."""
MOST_TEXT = 100  # characters of a reason that are kept
MANUAL_RETRY = "manual_retry"
"""The reason of retries of items that had failed, and that an operator has started again."""
LATENESS_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Upper bounds of the buckets of retry lateness, in seconds. They are stored by their index, so none may be inserted."""


class AttemptKey(NamedTuple):
    minute: int
    """The Unix time at which the minute begins."""
    workflow: str
    step: str
    outcome: str
    class_: str
    reason: str
    attempt: int
    after_class: str
    """The class of the failure that the attempt retried. Empty if it was no retry."""
    after_reason: str


class AttemptCount(msgspec.Struct, gc=False):
    n: int = 0
    seconds: float = 0.0
    waited: float = 0.0
    """Seconds of delay before these retries."""
    retried: int = 0
    """How many were decided to be retried or held."""
    given_up: int = 0
    """How many failed for good."""


class WorkerCount(msgspec.Struct, gc=False):
    started: int = 0
    retries: int = 0
    failed: int = 0
    recovered: int = 0
    """Retries that succeeded."""
    seconds: float = 0.0
    """Seconds that the retries ran."""
    waited: float = 0.0
    """Seconds of delay before the retries."""


class LatenessCount(msgspec.Struct, gc=False):
    n: int = 0
    seconds: float = 0.0


class ItemKey(NamedTuple):
    execution_id: int
    step: str
    item_no: int
    """-1 if the item belongs to no fan-out."""
    compensates: bool


class RetryUnderway(msgspec.Struct, gc=False):
    """Describes a failure that is being retried."""

    attempt: int
    """The number of the attempt that failed."""
    class_: str
    reason: str
    delay: float = 0.0
    due: float | None = None
    """The Unix time at which the retry is due. None if it has started, or is held."""
    worker: str | None = None
    """The worker of the retry, once it has started."""


class Counts:
    """Sums of a part of the log."""

    def __init__(self) -> None:
        self.attempts: defaultdict[AttemptKey, AttemptCount] = defaultdict(AttemptCount)
        self.workers: defaultdict[tuple[int, str], WorkerCount] = defaultdict(WorkerCount)
        """By minute and worker."""
        self.events: defaultdict[tuple[int, str, str], int] = defaultdict(int)
        """By minute, workflow and kind."""
        self.lateness: defaultdict[tuple[int, int], LatenessCount] = defaultdict(LatenessCount)
        """By minute and bucket."""
        self.retries: defaultdict[str, int] = defaultdict(int)
        """The retries that have started, by the reason of the failure."""

    @property
    def is_empty(self) -> bool:
        return not (self.attempts or self.workers or self.events)


def lateness_bucket(seconds: float) -> int:
    """Returns the index of the first bound that is not exceeded, or the number of bounds."""
    for index, bound in enumerate(LATENESS_BOUNDS):
        if seconds <= bound:
            return index
    return len(LATENESS_BOUNDS)
