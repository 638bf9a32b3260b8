"""Defines the sources of settings: flags, variables, and two files. Each records where a value was written, for messages."""

from __future__ import annotations

import difflib
import tomllib
from abc import abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_settings import PydanticBaseSettingsSource

from tenax.errors import Unreachable, UsageError
from tenax.settings.docs import FIELDS, flag_of, variable_of
from tenax.settings.home import FILE_NAME, default_home, resolve_home

_LISTED = "the settings are listed in the docs"


@dataclass(frozen=True, slots=True)
class Written:
    """Holds a value as it was written, and where."""

    value: Any
    source: str
    """The source in the words of a message: `TENAX_LEASE=abc`, `--lease abc`, `/etc/tenax.toml: lease = 'abc'`."""


class Wrong:
    """Collects everything that is wrong with the settings, to report it at once."""

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


class SettingsSource(PydanticBaseSettingsSource):
    """Is a source of settings. It gives the settings that no source before it gives. Each setting is taken whole, so tables are not merged."""

    def __init__(self, settings: Any, folder: Path, wrong: Wrong) -> None:
        super().__init__(settings)
        self.folder = folder
        """The folder from which a relative home of this source starts."""
        self.wrong = wrong
        self.written: dict[str, Written] = {}

    @abstractmethod
    def read(self) -> dict[str, Written]:
        """Returns what the source sets, by name."""

    def __call__(self) -> dict[str, Any]:
        self.written = self.read()
        values = {name: one.value for name, one in self.written.items() if name not in self.current_state}
        if "home" in values:
            with suppress(ValueError):  # the model reports what is wrong with it
                values["home"] = resolve_home(values["home"], self.folder)
        return values

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:  # noqa: ARG002 - its name in the base
        """Returns one value, as pydantic-settings asks for it."""
        one = self.written.get(field_name)
        return (None if one is None else one.value), field_name, False


class Flags(SettingsSource):
    """Reads flags, keyed by the names of settings. A flag that is None sets nothing."""

    def __init__(self, settings: Any, folder: Path, wrong: Wrong, *, flags: Mapping[str, Any]) -> None:
        super().__init__(settings, folder, wrong)
        self._flags = flags

    def read(self) -> dict[str, Written]:
        written: dict[str, Written] = {}
        for name, value in self._flags.items():
            if name not in FIELDS:
                self.wrong.add(f"unknown setting '{name}'{_nearest(name)}")
            elif value is not None:
                text = ",".join(value) if isinstance(value, tuple) else value
                shown = "''" if text == "" else _shown(text, name)
                written[name] = Written(value, f"{flag_of(name)} {shown}")
        return written


class Variables(SettingsSource):
    """Reads variables named TENAX_*. An empty variable sets nothing."""

    def __init__(self, settings: Any, folder: Path, wrong: Wrong, *, env: Mapping[str, str]) -> None:
        super().__init__(settings, folder, wrong)
        self._env = env

    def read(self) -> dict[str, Written]:
        given = {name: self._env.get(variable_of(name), "") for name in FIELDS}
        return {
            name: Written(value.strip(), f"{variable_of(name)}={_shown(value, name)}")
            for name, value in given.items()
            if value.strip()
        }


class WorkingFolder(SettingsSource):
    """Reads the `tenax.toml` of the working folder."""

    def read(self) -> dict[str, Written]:
        file = self.folder / FILE_NAME
        written: dict[str, Written] = {}
        for name, value in _table(file, self.wrong).items():
            if name in FIELDS:
                written[name] = Written(value, f"{file}: {name} = {_shown(repr(value), name)}")
            else:
                self.wrong.add(f"{file}: unknown setting '{name}'{_nearest(name)}", remedy=_LISTED)
        return written


class HomeFolder(WorkingFolder):
    """Reads the `tenax.toml` of the home, which the sources before this one have named. Also gives the default of the home."""

    def __init__(self, settings: Any, folder: Path, wrong: Wrong, *, env: Mapping[str, str]) -> None:
        super().__init__(settings, folder, wrong)
        self._env = env

    def read(self) -> dict[str, Written]:
        cwd, home = self.folder, self.current_state.get("home", default_home(self._env))
        if not isinstance(home, Path) or home == cwd:  # it is wrong, or its file has been read
            return {}
        self.folder = home
        written = super().read()
        if "home" in written:
            self.wrong.add(
                f"{written.pop('home').source}: this file is found through `home`, so it cannot set it",
                remedy=f"set TENAX_HOME, or write home into {cwd / FILE_NAME}",
            )
        return written

    def __call__(self) -> dict[str, Any]:
        return {"home": default_home(self._env), **super().__call__()}


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


def _shown(value: Any, name: str) -> Any:
    """Returns a value for a message. Secrets are not shown."""
    return value if FIELDS[name].repr else "..."


def _nearest(name: str) -> str:
    close = difflib.get_close_matches(name, FIELDS, n=1)
    return f"; did you mean '{close[0]}'?" if close else ""
