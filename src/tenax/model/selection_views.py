"""Defines the views of saved filters and of bulk jobs."""

from __future__ import annotations

from tenax.model.views import View


class SavedFilter(View):
    """Describes a filter that was saved by name."""

    name: str
    filter: str
    actor: str
    """The person who saved it last."""
    saved_at: str


class SavedFilterAnswer(View):
    name: str
    filter: str
    created: bool
    """False if it took the place of an earlier filter of this name."""


class RemovedFilter(View):
    name: str
    removed: bool
