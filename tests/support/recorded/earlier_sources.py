"""Gets the sources of an earlier commit from the history of this repository."""

from __future__ import annotations

import io
import subprocess
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[3]


def extract(commit: str, folder: Path) -> Path:
    """Writes the sources of a commit into a folder, and returns the folder of its packages.

    Raises `CalledProcessError` if git does not have the commit.
    """
    command = ["git", "archive", "--format=zip", commit, "src"]
    archive = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    zipfile.ZipFile(io.BytesIO(archive)).extractall(folder)
    return folder / "src"
