"""The folder of the embedded database: whoever makes a new one is told so, since a mistyped home looks like lost data."""

from __future__ import annotations

import contextlib
import sys

from tenax.cli.output import say
from tenax.errors import Unreachable
from tenax.settings import Settings


def announce_new_database(settings: Settings) -> None:
    """To be called before the database is opened. On stderr: stdout belongs to what was asked for."""
    if settings.database_url:
        return
    from tenax.store.embedded.server import EmbeddedPostgres

    with contextlib.suppress(Unreachable):  # then opening it says what is wrong
        if EmbeddedPostgres(settings.home).status().data is None:
            say(f"making a new database in {settings.home}", stream=sys.stderr)
