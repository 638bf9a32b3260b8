"""Reads the settings from all sources, and reports everything that is wrong with them at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from tenax.credentials.private_variables import own_variables
from tenax.settings.checks import check_together, mistyped_variables, warn_of_variable
from tenax.settings.docs import FIELDS
from tenax.settings.model import Settings
from tenax.settings.sources import Flags, HomeFolder, SettingsSource, Variables, WorkingFolder, Written, Wrong


class LoadedSettings(Settings, BaseSettings):
    """Reads the settings from all sources."""

    model_config = SettingsConfigDict(frozen=True)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the names of the base
        init_settings: Any,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Returns the sources that were given with the call. The first one wins."""
        sources: tuple[PydanticBaseSettingsSource, ...] = init_settings.init_kwargs["from_sources"]
        return sources


def load_settings(
    flags: Mapping[str, Any] | None = None, *, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Settings:
    """Reads the settings. The file in the working folder wins over that of the home, key by key.

    `flags` are keyed by field name. None means that a flag was not given, as an empty variable means for a variable. Everything that is
    wrong is reported at once, in one UsageError.
    """
    env = own_variables() if env is None else env
    cwd = Path.cwd() if cwd is None else cwd
    for variable, meant in mistyped_variables(env, FIELDS):
        warn_of_variable(variable, meant)
    wrong = Wrong()
    near = WorkingFolder(LoadedSettings, cwd, wrong)
    far = HomeFolder(LoadedSettings, cwd, wrong, env=env)
    sources = (
        Flags(LoadedSettings, cwd, wrong, flags=flags or {}),
        Variables(LoadedSettings, cwd, wrong, env=env),
        near,
        far,
    )
    settings = _validated(sources, wrong)
    written = _written(sources)
    settings = settings.model_copy(
        update={
            "sources": {name: one.source for name, one in written.items()},
            "from_folder": _chosen_by_folder(written, near, far, is_home=settings.home == cwd),
        }
    )
    check_together({name: getattr(settings, name) for name in FIELDS}, settings.sources)
    return settings


def _validated(sources: Sequence[SettingsSource], wrong: Wrong) -> Settings:
    read: dict[str, Any] = {"from_sources": tuple(sources)}
    try:
        settings = LoadedSettings(**read)
    except ValidationError as error:
        written = _written(sources)
        faults = [(str(one["loc"][0]), _expected(one)) for one in error.errors(include_url=False)]
        for name, expected in faults:
            if name in written:
                wrong.add(f"{written[name].source}: {expected}")
        wrong.refuse()
        # Each written value is valid by itself, but a value that is computed from them is not.
        given = ", ".join(one.source for name, one in written.items() if name != "home")
        for name, expected in faults:
            wrong.add(f"{name}, which follows from {given}: {expected}; set {name} too")
        wrong.refuse()
        raise
    wrong.refuse()
    return settings


def _expected(error: Any) -> str:
    """Returns what a value should have been."""
    if error["type"].startswith("bool_"):
        return "expected true or false"
    return str(error["ctx"]["error"] if error["type"] == "value_error" else error["msg"])


def _written(sources: Sequence[SettingsSource]) -> dict[str, Written]:
    """Returns the values that count, each from the first source that has it."""
    written: dict[str, Written] = {}
    for source in sources:
        written = {**source.written, **written}
    return written


def _chosen_by_folder(
    written: Mapping[str, Written], near: SettingsSource, far: SettingsSource, *, is_home: bool
) -> frozenset[str]:
    """Returns the settings that a file of the working folder sets, and those that its home sets if it names a home itself."""
    home = written.get("home")
    names_home = home is not None and home is near.written.get("home")
    if is_home and not names_home:
        return frozenset()
    chosen = [*near.written.values(), *(far.written.values() if names_home else ())]
    return frozenset(name for name, one in written.items() if any(one is other for other in chosen))
