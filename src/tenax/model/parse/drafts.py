"""What is known of a step while its file is still being read."""

from __future__ import annotations

from dataclasses import dataclass

from tenax.model.definition.workflow import DEFAULT_PRIORITY, DEFAULT_QUEUE, DEFAULT_TIMEOUT, Step
from tenax.model.policy import Patch
from tenax.model.source.findings import Path


@dataclass(frozen=True, slots=True)
class StepDefaults:
    """What a step gets where it does not say otherwise."""

    retry: Patch | None = None
    timeout: float = DEFAULT_TIMEOUT
    queue: str = DEFAULT_QUEUE
    queue_ttl: float | None = None
    priority: int = DEFAULT_PRIORITY


@dataclass(frozen=True, slots=True)
class Reference:
    """A step named in another's `needs`, `next` or `on_failure`, and where."""

    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class StepDraft:
    """A step as it stands in the file, before its references are followed."""

    step: Step
    path: Path
    needs: tuple[Reference, ...]
    next: tuple[Reference, ...]
    fallback: Reference | None
