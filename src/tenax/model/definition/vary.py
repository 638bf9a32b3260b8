"""Reads and applies `vary`, the overrides of a step's keys in its policy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

FIXED_KEYS: Mapping[str, str] = {
    "action": "which action runs is settled at submit; vary its `params`, or name a step in `on_failure`",
    "async": "whether a step is async does not change between its attempts",
    "workflow": "which child is started is settled at submit; vary its `input`, or name a step in `on_failure`",
    "file": "which child is started is settled at submit; vary its `input`, or name a step in `on_failure`",
    "tier": "the tier gives defaults for the whole policy; vary the `model` or the `command`",
}
"""Keys of steps that cannot vary, and why."""


def override_text(override: Mapping[str, Any]) -> str:
    """Encodes an entry as a policy holds it."""
    return json.dumps(override, sort_keys=True, separators=(",", ":"), allow_nan=False)


def merge_override(base: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
    """Merges mappings key by key, at every depth. Any other value replaces the earlier one."""
    merged = dict(base)
    for key, value in override.items():
        before = merged.get(key)
        both = isinstance(before, Mapping) and isinstance(value, Mapping)
        merged[key] = merge_override(before, value) if both else value  # type: ignore[arg-type]  # `both` says it
    return merged
