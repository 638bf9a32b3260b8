"""Warns a caller that waits for an execution if some of its work is held and does not go on by itself."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

log = logging.getLogger("tenax.client")


def warn_of_held(execution: Mapping[str, Any], told: set[str]) -> None:
    """Logs one warning for each step that is held, and adds the step to `told`. Removes steps that are no longer held."""
    held = {name: step["held"] for name, step in execution.get("steps", {}).items() if step.get("held")}
    for name in held.keys() - told:
        log.warning(
            "execution %s does not go on by itself: step %s is held (%s); release it: `tenax retry %s`, or "
            "`retry(%s)` of the client",
            execution["id"],
            name,
            held[name].get("reason") or held[name].get("rule"),
            execution["id"],
            execution["id"],
        )
    told.clear()
    told.update(held)
