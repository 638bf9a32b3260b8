"""Defines the bodies of requests that import files of other systems."""

from __future__ import annotations

from tenax.model.wire_types import Name, Source, Text
from tenax.server.schema.body import Body
from tenax.server.schema.requests import PersonBody


class ImportWanted(PersonBody, frozen=True):
    """Translates a file of another system. Without `system`, Tenax recognises it."""

    source: Source
    filename: Text | None = None
    system: Name | None = None


IMPORT = Body(ImportWanted)
