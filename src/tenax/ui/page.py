"""Describes a page of the dashboard to the rest of it."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter


@dataclass(frozen=True, slots=True)
class Page:
    """Is one entry of the list of pages. All routes of its router are at `path` or below it."""

    path: str
    router: APIRouter
    title: str | None = None
    """The text of its link in the navigation. None: the navigation does not show it."""
    key: str | None = None
    """The letter that opens the page after `g`."""
    admin_only: bool = False
    """If true, only admins may open it."""
