"""Reads the settings in a child process that ends at once, for a process that must stay small.

The models of the settings, and the libraries below them, would otherwise stay in the memory of each worker.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from tenax.errors import TenaxError
from tenax.model.definition.tiers import AgentDefaults

if TYPE_CHECKING:
    from tenax.settings.model import Settings


def load_settings_in_child(flags: Mapping[str, Any]) -> tuple[Settings, AgentDefaults]:
    """Returns what `load_settings` returns, as plain values of the same names, and what it gives to agents. Raises the
    same errors.

    Call it before the process starts a thread.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _answer(writing, flags)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    if not answer:
        raise TenaxError("the process that reads the settings was killed", remedy="try it again")
    found = pickle.loads(answer)  # noqa: S301 - from a child of this process, through its own pipe
    if isinstance(found, Exception):
        raise found
    values, agents = found
    return cast("Settings", SimpleNamespace(**values)), agents


def _answer(writing: int, flags: Mapping[str, Any]) -> None:
    """Writes the settings, or the error, and ends the child. Nothing of the parent may run in it a second time, whatever happens."""
    try:
        from tenax.settings.agents import agent_defaults
        from tenax.settings.load import load_settings

        try:
            settings = load_settings(flags)
            found: Any = settings.model_dump(), agent_defaults(settings)
        except Exception as error:  # noqa: BLE001 - it is raised in the parent
            found = error
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(found, pipe)
    finally:
        os._exit(0)
