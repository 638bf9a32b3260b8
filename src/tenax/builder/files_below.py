"""Reads the workflow files that the steps of a built workflow start by `file=`, and the files that those start."""

from __future__ import annotations

import posixpath
from pathlib import Path

from tenax.sdk.bundle import bundle
from tenax.sdk.files import read_definition


def files_below(path: str, folder: Path) -> dict[str, str]:
    """Returns the text of the file at `path` and of all files below it, by their paths from the folder."""
    definition = read_definition(folder / path)
    home = posixpath.dirname(path)
    below = {posixpath.normpath(posixpath.join(home, key)): text for key, text in bundle(definition).items()}
    return {posixpath.normpath(path): definition.text, **below}
