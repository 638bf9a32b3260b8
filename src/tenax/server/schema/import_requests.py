"""Defines the bodies of requests about files that are not stored: imports and lints."""

from __future__ import annotations

from tenax.model.wire_types import Name, Source, Text
from tenax.server.schema.body import Body
from tenax.server.schema.requests import PersonBody


class ImportWanted(PersonBody, frozen=True):
    """Translates a file of another system. Without `system`, Tenax recognises it."""

    source: Source
    filename: Text | None = None
    system: Name | None = None


class LintWanted(PersonBody, frozen=True):
    """Looks a workflow file over."""

    source: Source
    filename: Text | None = None


IMPORT = Body(ImportWanted)
LINT = Body(LintWanted)
