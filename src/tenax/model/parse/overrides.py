"""Reads the entries of `vary`, with the declaration of the keys of the step's type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenax.model.definition.types import StepType
from tenax.model.definition.vary import FIXED_KEYS, merge_override
from tenax.model.parse.keys.step_types import OWN_KEYS
from tenax.model.parse.shape import read_mapping
from tenax.model.source.findings import Findings, Path, shorten, suggest


def read_override(
    step_type: StepType, spec: Mapping[str, Any], override: Mapping[str, Any], path: Path, findings: Findings
) -> dict[str, Any]:
    """Returns an entry in the form in which a step keeps its keys. Reports keys of other types, and values that make the step invalid."""
    own_keys = OWN_KEYS[step_type]
    known = [key for key in own_keys.key_names() if key not in FIXED_KEYS]
    for key in override:
        if key in FIXED_KEYS and key in own_keys.key_names():
            findings.add((*path, key), f"`{key}` cannot vary: {FIXED_KEYS[key]}")
        elif key not in known:
            hint = suggest(key, known)
            findings.add(
                (*path, key), f"`{shorten(key)}` is no key of {step_type} steps that could vary{hint}"
            )
    own = {key: value for key, value in override.items() if key in known}
    given = {key: value for key, value in spec.items() if value is not None}
    merged, _ = read_mapping(own_keys, merge_override(given, own), path, findings)
    return _same_keys(merged.spec(own_keys), own)


def _same_keys(read: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the part of the merged keys that the entry itself sets."""
    return {
        key: _same_keys(read[key], value)
        if isinstance(value, Mapping) and isinstance(read.get(key), Mapping)
        else read.get(key)
        for key, value in own.items()
    }
