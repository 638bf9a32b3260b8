"""Prints the installed version."""

from __future__ import annotations

from tenax import __version__
from tenax.cli.flags import Json
from tenax.cli.output import print_json, say


def version(*, json: Json = False) -> None:
    """Print the version of Tenax."""
    if json:
        print_json({"version": __version__})
    else:
        say(f"tenax {__version__}")
