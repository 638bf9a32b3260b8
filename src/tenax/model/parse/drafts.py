"""Holds what is known of a step while its file is still being read."""

from __future__ import annotations

from dataclasses import dataclass

from tenax.model.definition.workflow import DEFAULT_PRIORITY, DEFAULT_QUEUE, DEFAULT_TIMEOUT, Step
from tenax.model.policy import Patch
from tenax.model.source.findings import Path


@dataclass(frozen=True, slots=True)
class StepDefaults:
    """Holds the values of keys that a step does not give."""

    retry: Patch | None = None
    timeout: float = DEFAULT_TIMEOUT
    queue: str = DEFAULT_QUEUE
    queue_ttl: float | None = None
    priority: int = DEFAULT_PRIORITY


@dataclass(frozen=True, slots=True)
class Reference:
    """Names another step, in `needs`, `next` or `on_failure`, with the place of the name."""

    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class StepDraft:
    """Holds a step as the file gives it, before its references are followed."""

    step: Step
    path: Path
    needs: tuple[Reference, ...]
    next: tuple[Reference, ...]
    fallback: Reference | None
