"""Checks settings beyond each value: values that do not fit together, and mistyped variables."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from tenax.errors import UsageError
from tenax.settings.docs import variable_of

_CLOSE = 0.75
"""The similarity of a typing error. The variables of process steps (TENAX_STEP, ...) are less similar."""
_log = logging.getLogger("tenax.settings")


def check_together(values: Mapping[str, Any], sources: Mapping[str, str]) -> None:
    """Refuses values that are valid by themselves and do not fit together."""
    for what in ("failures", "depth", "rate"):
        worse, bad = f"unhealthy_{what}", f"degraded_{what}"
        if values[worse] < values[bad]:
            raise UsageError(
                f"{_at_fault(sources, worse, bad)}: {worse} ({values[worse]:g}) must not be less than "
                f"{bad} ({values[bad]:g})",
                remedy=f"set both {variable_of(bad)} and {variable_of(worse)}",
            )
    if values["heartbeat"] >= values["lease"]:
        raise UsageError(
            f"{_at_fault(sources, 'heartbeat', 'lease')}: heartbeat ({values['heartbeat']:g}s) must be less than "
            f"lease ({values['lease']:g}s), or every lease would run out",
            remedy="a third of the lease is a good heartbeat",
        )
    if values["body_memory"] < 2 * values["max_body"]:
        raise UsageError(
            f"{_at_fault(sources, 'body_memory', 'max_body')}: body_memory ({values['body_memory']:,} bytes) must be at least twice "
            f"max_body ({values['max_body']:,} bytes), or the largest body would never find room: one sender may have half of it",
            remedy="set both TENAX_BODY_MEMORY and TENAX_MAX_BODY",
        )
    silence = values["unhealthy_silence"]
    if silence is not None and silence <= values["heartbeat"]:
        raise UsageError(
            f"{_at_fault(sources, 'unhealthy_silence', 'heartbeat')}: unhealthy_silence ({silence:g}s) must be more "
            f"than heartbeat ({values['heartbeat']:g}s), or every worker would be unhealthy between two of them",
            remedy="three times the heartbeat is a good silence",
        )


def _at_fault(sources: Mapping[str, str], first: str, second: str) -> str:
    """Returns where the first of the two was written, or else the second."""
    return sources.get(first) or sources.get(second) or first


def mistyped_variables(env: Mapping[str, str], names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Returns the variables that are probably meant for a setting, each with the setting that it resembles.

    Other variables that begin with TENAX_ are ignored: they are secrets, or belong to process steps or other tools.
    """
    known = list(names)
    for variable in env:
        name = variable.removeprefix("TENAX_").lower()
        if not variable.startswith("TENAX_") or name.startswith("secret_"):
            continue
        close = difflib.get_close_matches(name, known, n=1, cutoff=_CLOSE)
        if close and variable != variable_of(close[0]):
            yield variable, variable_of(close[0])


@cache
def warn_of_variable(variable: str, meant: str) -> None:
    """Warns of a mistyped variable. It is cached, so a process warns once, however often it reads the settings."""
    _log.warning("%s is not a setting; did you mean %s?", variable, meant)
