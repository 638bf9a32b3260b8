"""Announces a new embedded database, since a mistyped home would look like lost data."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from tenax.cli.output import say
from tenax.errors import Unreachable

if TYPE_CHECKING:
    from tenax.settings import Settings


def announce_new_database(settings: Settings) -> None:
    """Says on stderr that a new database will be made, if so. Call it before the database is opened."""
    if settings.database_url:
        return
    from tenax.store.embedded.server import EmbeddedPostgres

    with contextlib.suppress(Unreachable):  # opening the database reports the problem
        if EmbeddedPostgres(settings.home).status().data is None:
            say(f"making a new database in {settings.home}", stream=sys.stderr)
