"""What the docs say of settings, made from the settings themselves so that it cannot differ from them."""

from __future__ import annotations

from dataclasses import dataclass, fields

from tenax.settings.sources import flag_of, variable_of
from tenax.settings.model import Settings


@dataclass(frozen=True, slots=True)
class SettingDoc:
    """One row of the table of settings in the docs."""

    name: str
    variable: str
    flag: str
    default: str
    doc: str


def describe_settings() -> tuple[SettingDoc, ...]:
    """Returns the rows of the table, one for each setting."""
    known = {spec.name: spec for spec in fields(Settings) if "parse" in spec.metadata}
    return tuple(
        SettingDoc(
            name=name,
            variable=variable_of(name),
            flag=flag_of(name, known),
            default=str(spec.metadata["shown"] or spec.default),
            doc=spec.metadata["doc"],
        )
        for name, spec in known.items()
    )
