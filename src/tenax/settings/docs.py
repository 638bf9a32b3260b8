"""Describes the settings: their names in each source, and the table in the docs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic.fields import FieldInfo

from tenax.settings.model import Settings

FIELDS: Mapping[str, FieldInfo] = {
    name: field for name, field in Settings.model_fields.items() if field.description is not None
}
"""The settings by name. The fields that record where values come from (`sources`) have no description and are not settings."""


@dataclass(frozen=True, slots=True)
class SettingDoc:
    """One row of the table of settings in the docs."""

    name: str
    variable: str
    flag: str
    default: str
    doc: str


def variable_of(name: str) -> str:
    return f"TENAX_{name.upper()}"


def flag_of(name: str) -> str:
    flag: str | None = _about(name)["flag"]
    return flag or f"--{name.replace('_', '-')}"


def describe_settings() -> tuple[SettingDoc, ...]:
    """Returns the rows of the table, one for each setting."""
    return tuple(
        SettingDoc(name, variable_of(name), flag_of(name), _default(name), field.description or "")
        for name, field in FIELDS.items()
    )


def _default(name: str) -> str:
    default = FIELDS[name].default
    return _about(name)["shown"] or (str(default).lower() if isinstance(default, bool) else str(default))


def _about(name: str) -> dict[str, Any]:
    about = FIELDS[name].json_schema_extra
    assert isinstance(about, dict)
    return about
