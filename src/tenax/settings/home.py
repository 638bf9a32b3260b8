"""Finds the home: the folder of the embedded database, of the user's token, and of a `tenax.toml`."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FILE_NAME = "tenax.toml"


def default_home(env: Mapping[str, str]) -> Path:
    """Returns the home of a user who names none."""
    if os.geteuid() == 0:
        return Path("/var/lib/tenax")
    data_home = env.get("XDG_DATA_HOME", "")
    # The XDG specification says to ignore relative paths.
    folder = (
        Path(data_home)
        if data_home.startswith("/")
        else Path(env.get("HOME") or Path.home()) / ".local" / "share"
    )
    return folder / "tenax"


def read_path(value: Any) -> Path:
    """Reads a path; `~` is the user's home folder. Raises ValueError if the value is none."""
    if isinstance(value, Path):
        return value
    if not isinstance(value, str) or not value.strip():
        raise ValueError("expected a text")
    try:
        return Path(value.strip()).expanduser()
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def resolve_home(value: Any, folder: Path) -> Path:
    """Returns the path that a value names. A relative path starts from the folder where the value was written."""
    return Path(os.path.normpath(folder / read_path(value)))


def find_home(*, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Path:
    """Returns the home that `load_settings` would find, without reading the other settings.

    A wrong value is ignored. A process that needs more of the settings reports it.
    """
    env = os.environ if env is None else env
    try:
        cwd = Path.cwd() if cwd is None else cwd
    except FileNotFoundError:  # the working folder was removed
        cwd = Path("/")
    try:
        written = (
            env.get("TENAX_HOME", "").strip() or tomllib.loads((cwd / FILE_NAME).read_text("utf-8"))["home"]
        )
        return resolve_home(written, cwd)
    except (OSError, ValueError, KeyError):
        return default_home(env)
