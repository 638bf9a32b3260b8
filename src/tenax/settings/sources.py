"""Where settings are written: files, variables and flags. Each value is kept with its place, for messages."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import Field, dataclass
from pathlib import Path
from typing import Any

from tenax.errors import Unreachable, UsageError

_LISTED = "the settings are listed in the docs"

Specs = Mapping[str, Field[Any]]
"""The fields of all settings, by name."""


@dataclass(frozen=True, slots=True)
class Given:
    """A value as it was written, and where."""

    value: Any
    source: str
    """In the words of a message: `TENAX_LEASE=abc`, `--lease abc`, `/etc/tenax.toml: lease = 'abc'`."""
    folder: Path | None = None
    """The folder of the file that holds it, which a relative path in it starts from."""


class Wrong:
    """Everything that is wrong with the settings, to be said at once."""

    def __init__(self) -> None:
        self._messages: list[str] = []
        self._remedies: list[str] = []

    def add(self, message: str, *, remedy: str | None = None) -> None:
        self._messages.append(message)
        if remedy is not None and remedy not in self._remedies:
            self._remedies.append(remedy)

    def refuse(self) -> None:
        if self._messages:
            raise UsageError("\n".join(self._messages), remedy="; ".join(self._remedies) or None)


def variable_of(name: str) -> str:
    return f"TENAX_{name.upper()}"


def flag_of(name: str, specs: Specs) -> str:
    return specs[name].metadata["flag"] or f"--{name.replace('_', '-')}"


def read_file(file: Path, specs: Specs, wrong: Wrong) -> dict[str, Given]:
    """What a file sets; nothing where there is none."""
    given: dict[str, Given] = {}
    for name, value in _table(file, wrong).items():
        if name not in specs:
            wrong.add(f"{file}: unknown setting '{name}'{_nearest(name, specs)}", remedy=_LISTED)
            continue
        given[name] = Given(value, f"{file}: {name} = {_shown(repr(value), specs[name])}", file.parent)
    return given


def read_variables(env: Mapping[str, str], specs: Specs) -> dict[str, Given]:
    """What variables set. An empty one sets nothing."""
    given: dict[str, Given] = {}
    for name, spec in specs.items():
        value = env.get(variable_of(name), "")
        if value.strip():
            given[name] = Given(value, f"{variable_of(name)}={_shown(value, spec)}")
    return given


def read_flags(flags: Mapping[str, Any], specs: Specs, wrong: Wrong) -> dict[str, Given]:
    """What flags, keyed by field name, set. None sets nothing."""
    given: dict[str, Given] = {}
    for name, value in flags.items():
        if name not in specs:
            wrong.add(f"unknown setting '{name}'{_nearest(name, specs)}")
        elif value is not None:
            written = ",".join(value) if isinstance(value, tuple) else value
            shown = "''" if written == "" else _shown(written, specs[name])
            given[name] = Given(value, f"{flag_of(name, specs)} {shown}")
    return given


def parse(given: Given, spec: Field[Any], wrong: Wrong) -> Any:
    """The value, read as the setting wants it; None where it is wrong."""
    try:
        return spec.metadata["parse"](given.value)
    except ValueError as error:
        wrong.add(f"{given.source}: {error}")
        return None


def chosen_by_folder(
    given: Mapping[str, Given], beside: Mapping[str, Given], far: Mapping[str, Given], *, is_home: bool
) -> frozenset[str]:
    """Returns the settings that the working folder has chosen. A home that it names itself is no better than it is."""
    names_home = given.get("home") is not None and given["home"] is beside.get("home")
    if is_home and not names_home:
        return frozenset()
    chosen = [*beside.values(), *(far.values() if names_home else ())]
    return frozenset(name for name, one in given.items() if any(one is other for other in chosen))


def default_home(env: Mapping[str, str]) -> Path:
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


def _table(file: Path, wrong: Wrong) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        wrong.add(f"{file}: not valid TOML: {error}")
        return {}
    except OSError as error:
        raise Unreachable(
            f"{file}: cannot be read: {error.strerror}",
            remedy="let this user read it, or set TENAX_HOME to another folder",
        ) from error


def _shown(value: Any, spec: Field[Any]) -> Any:
    """Secrets are not printed."""
    return value if spec.repr else "..."


def _nearest(name: str, specs: Specs) -> str:
    close = difflib.get_close_matches(name, specs, n=1)
    return f"; did you mean '{close[0]}'?" if close else ""
