"""Finds the durations in a diagnosis that change while somebody looks at it, so that the page lets them tick."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tenax.model.diagnosis import Diagnosis
from tenax.model.execution_views import Execution, Step
from tenax.policy.diagnosis.words import for_time, in_time


class Piece(NamedTuple):
    """Is a piece of a sentence: text, or the duration until or since a time."""

    text: str
    until: str | None = None
    since: str | None = None


def pieces_of(sentence: str, diagnosis: Diagnosis, execution: Execution) -> list[Piece]:
    """Divides a sentence at the durations in it. A duration that no time explains stays text."""
    known = dict(_durations(diagnosis, execution))
    if not known:
        return [Piece(sentence)]
    longest_first = sorted(known, key=len, reverse=True)
    pattern = "|".join(rf"\b{re.escape(words)}(?![\w.]*\w)" for words in longest_first)
    pieces: list[Piece] = []
    end = 0
    for found in re.finditer(pattern, sentence):
        pieces += [Piece(sentence[end : found.start()]), known[found.group()]]
        end = found.end()
    return [*pieces, Piece(sentence[end:])]


def _durations(diagnosis: Diagnosis, execution: Execution) -> Iterator[tuple[str, Piece]]:
    """Yields the words that a diagnosis uses for the times of an execution."""
    now = execution.now
    times = [door.opens_at for door in diagnosis.doors]
    for step in execution.steps.values():
        if step.status in ("running", "retrying", "queued"):
            times += _coming(step)
            yield from ((for_time(at, now), Piece("for", since=at)) for at in _past(step))
    for at in times:
        if at is not None and (words := in_time(at, now)) != "now":
            yield words, Piece("in", until=at)


def _coming(step: Step) -> list[str | None]:
    waiting = step.waiting or {}
    return [step.available_at, waiting.get("until"), waiting.get("deadline_at")]


def _past(step: Step) -> Iterator[str]:
    last = step.attempts[-1] if step.attempts else None
    times = [last.started_at if last is not None else None]
    times += [part.since for part in (step.unserved, step.limited) if part is not None]
    yield from (at for at in times if at is not None)
