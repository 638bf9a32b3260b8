"""Reads the settings of a process: defaults, files, variables, flags.

The names are imported when they are first used: a worker must not hold the models of the settings in its memory.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tenax.settings.load import load_settings
    from tenax.settings.model import Settings

__all__ = ["Settings", "load_settings"]

_HOME = {"Settings": "tenax.settings.model", "load_settings": "tenax.settings.load"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tenax.settings' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
