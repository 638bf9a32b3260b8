"""Reads and applies `vary`, the overrides of a step's keys in its policy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tenax.model.definition.workflow import StepType
from tenax.model.parse.fields import Fields
from tenax.model.parse.findings import Findings, Path, shorten, suggest
from tenax.model.parse.step_types import SPEC_KEYS, read_spec

FIXED_KEYS: Mapping[str, str] = {
    "async": "whether a step is async does not change between its attempts",
    "workflow": "which child is started is settled at submit; vary its `input`, or name a step in `on_failure`",
    "file": "which child is started is settled at submit; vary its `input`, or name a step in `on_failure`",
}
"""Keys of steps that cannot vary, and why."""


def varied_keys(step_type: StepType) -> tuple[str, ...]:
    return tuple(key for key in SPEC_KEYS[step_type] if key not in FIXED_KEYS)


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


def read_override(
    step_type: StepType, spec: Mapping[str, Any], override: Mapping[str, Any], path: Path, findings: Findings
) -> dict[str, Any]:
    """Reads an entry in the form of a step's keys. Reports unknown keys, and errors in the step that the entry would make."""
    known = varied_keys(step_type)
    for key in override:
        if key in FIXED_KEYS and key in SPEC_KEYS[step_type]:
            findings.add((*path, key), f"`{key}` cannot vary: {FIXED_KEYS[key]}")
        elif key not in known:
            hint = suggest(key, known)
            findings.add(
                (*path, key), f"`{shorten(key)}` is no key of {step_type} steps that could vary{hint}"
            )
    own = {key: value for key, value in override.items() if key in known}
    given = {key: value for key, value in spec.items() if value is not None}
    merged = read_spec(step_type, Fields(merge_override(given, own), path, findings))
    return _same_keys(merged, own)


def _same_keys(read: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the parts of the step that was read that the entry itself sets."""
    return {
        key: _same_keys(read[key], value)
        if isinstance(value, Mapping) and isinstance(read.get(key), Mapping)
        else read.get(key)
        for key, value in own.items()
    }
