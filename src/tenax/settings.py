"""Every setting once, with its default and its doc. Sources, each beating the one before: defaults, file, TENAX_*, flags."""

from __future__ import annotations

import difflib
import logging
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from tenax import setting_values as values
from tenax.errors import Unreachable, UsageError

FILE_NAME = "tenax.toml"
_LISTED = "the settings are listed in the docs"
_CLOSE = 0.75
"""Near enough for a typing error; the variables of process steps (TENAX_STEP, ...) are farther off."""
_log = logging.getLogger("tenax.settings")

LOG_LEVELS = ("debug", "info", "warning", "error")


def _about(
    parse: values.Parser, doc: str, *, shown: str | None = None, flag: str | None = None
) -> dict[str, Any]:
    """What a field knows of itself; `shown` is its default in the words of the docs."""
    return {"parse": parse, "doc": doc, "shown": shown, "flag": flag}


def _setting(default: Any, *about: Any, secret: bool = False, **more: Any) -> Any:
    return field(default=default, metadata=_about(*about, **more), repr=not secret)


@dataclass(frozen=True, slots=True)
class Settings:
    """What one process runs with. `sources` says where each value that is not a default came from."""

    home: Path = field(
        default_factory=lambda: _default_home(os.environ),
        metadata=_about(
            values.path,
            "the folder of the embedded database, its logs, and a tenax.toml",
            shown="/var/lib/tenax for root, else $XDG_DATA_HOME/tenax or ~/.local/share/tenax",
        ),
    )
    database_url: str | None = _setting(
        None,
        values.database_url,
        "a PostgreSQL (14 or newer) to use instead of the embedded one",
        shown="the embedded one",
        flag="--database",
        secret=True,
    )
    server: str | None = _setting(
        None, values.server_url, "the Tenax server that commands speak to", shown="none: the database itself"
    )
    token: str | None = _setting(
        None, values.text, "the token shown to that server", shown="none", secret=True
    )
    host: str = _setting(
        "127.0.0.1", values.text, "the address the server listens on; beyond loopback it wants tokens"
    )
    port: int = _setting(
        8520, values.whole_number(0, 65535), "the port the server listens on; 0 takes a free one"
    )
    callback_url: str | None = _setting(
        None,
        values.server_url,
        "the address at which the callees of async steps reach the server (its proxy's, where there is one)",
        shown="none: where it listens",
    )
    lease: float = _setting(
        30.0, values.positive_seconds, "how long a worker holds a work item without a heartbeat", shown="30s"
    )
    heartbeat: float = _setting(
        10.0,
        values.positive_seconds,
        "how often a worker extends its leases; where only `lease` is given, at most a third of it",
        shown="10s",
    )
    timeout_grace: float = _setting(
        1.0,
        values.seconds,
        "how long the server waits, after a timeout, for the worker's own report of it",
        shown="1s",
    )
    retries_enabled: bool = _setting(
        True, values.truth, "false: nothing is retried on this server", shown="true"
    )
    retry: Mapping[str, Any] | bool | int | None = _setting(
        None,
        values.retry_shape,
        "the server's default retry policy: a table, in TENAX_RETRY as JSON",
        shown="none: one attempt",
    )
    max_body: int = _setting(16_000_000, values.size_in_bytes, "the largest body of a request", shown="16MB")
    sweep: float = _setting(
        30.0, values.positive_seconds, "how often the server looks for work that was left behind", shown="30s"
    )
    workers: int = _setting(2, values.whole_number(0), "worker processes of `tenax up`")
    slots: int = _setting(
        10, values.whole_number(1, 1000), "work items that one worker runs at once, at most 1000"
    )
    queues: tuple[str, ...] = _setting(
        ("default",), values.names, "the queues a worker serves", shown="default"
    )
    labels: Mapping[str, str] = field(
        default_factory=dict,
        metadata=_about(values.labels, "what a worker offers, such as gpu=yes,zone=a", shown="none"),
    )
    worker_name: str | None = _setting(
        None, values.text, "the name of a worker", shown="its host and process id"
    )
    drain: float = _setting(
        30.0,
        values.seconds,
        "how long a stopping worker lets its work finish before it hands it back",
        shown="30s",
    )
    log_level: str = _setting("info", values.one_of(*LOG_LEVELS), f"one of {', '.join(LOG_LEVELS)}")
    sources: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)


_FIELDS = {spec.name: spec for spec in fields(Settings) if "parse" in spec.metadata}


@dataclass(frozen=True, slots=True)
class SettingDoc:
    """One row of the table of settings in the docs."""

    name: str
    variable: str
    flag: str
    default: str
    doc: str


def describe_settings() -> tuple[SettingDoc, ...]:
    """The table of all settings, made from the fields so that the docs cannot differ from the code."""
    return tuple(
        SettingDoc(
            name=name,
            variable=_variable(name),
            flag=_flag_name(name),
            default=str(spec.metadata["shown"] or spec.default),
            doc=spec.metadata["doc"],
        )
        for name, spec in _FIELDS.items()
    )


def load_settings(
    flags: Mapping[str, Any] | None = None, *, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Settings:
    """Settings from all sources. Of the two files the one in the working folder is the nearer and wins, key by key.

    `flags` are keyed by field name; None means not given, as an empty variable does. Everything that is wrong is
    reported at once, in one UsageError.
    """
    env = os.environ if env is None else env
    cwd = Path.cwd() if cwd is None else cwd
    for variable, meant in mistyped_variables(env):
        _warn_of_variable(variable, meant)
    wrong = _Wrong()
    near: dict[str, _Given] = {}
    _read_file(near, cwd / FILE_NAME, wrong)
    _read_variables(near, env)
    _read_flags(near, flags or {}, wrong)
    home = _home(near.get("home"), env, cwd, wrong)
    far: dict[str, _Given] = {}
    if home is not None and home != cwd:
        _read_file(far, home / FILE_NAME, wrong)
        if "home" in far:
            wrong.add(
                f"{far.pop('home').source}: this file is found through `home`, so it cannot set it",
                remedy=f"set TENAX_HOME, or write home into {cwd / FILE_NAME}",
            )
    given = {**far, **near}
    parsed = {name: _parsed(name, one, wrong) for name, one in given.items() if name != "home"}
    wrong.refuse()
    parsed["home"] = home
    if "lease" in parsed and "heartbeat" not in parsed:
        parsed["heartbeat"] = min(_FIELDS["heartbeat"].default, parsed["lease"] / 3)
    settings = Settings(**parsed, sources={name: one.source for name, one in given.items()})
    _check_together(settings)
    return settings


def mistyped_variables(env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Variables that are probably meant for a setting, each with the one that it is close to.

    Others that begin with TENAX_ are none of our business: secrets, what a process step was given, other tools'.
    """
    for variable in env:
        name = variable.removeprefix("TENAX_").lower()
        if not variable.startswith("TENAX_") or name.startswith("secret_"):
            continue
        close = difflib.get_close_matches(name, _FIELDS, n=1, cutoff=_CLOSE)
        if close and variable != _variable(close[0]):
            yield variable, _variable(close[0])


@cache
def _warn_of_variable(variable: str, meant: str) -> None:
    """Cached, so that it is said once in a process, however often the settings are read."""
    _log.warning("%s is not a setting; did you mean %s?", variable, meant)


class _Wrong:
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


@dataclass(frozen=True, slots=True)
class _Given:
    """A value as it was written, and where."""

    value: Any
    source: str
    """In the words of a message: `TENAX_LEASE=abc`, `--lease abc`, `/etc/tenax.toml: lease = 'abc'`."""
    folder: Path | None = None
    """The folder of the file that holds it, which a relative path in it starts from."""


def _read_file(given: dict[str, _Given], file: Path, wrong: _Wrong) -> None:
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        wrong.add(f"{file}: not valid TOML: {error}")
        return
    except OSError as error:
        raise Unreachable(
            f"{file}: cannot be read: {error.strerror}",
            remedy="let this user read it, or set TENAX_HOME to another folder",
        ) from error
    for name, value in table.items():
        if name not in _FIELDS:
            wrong.add(f"{file}: unknown setting '{name}'{_nearest(name)}", remedy=_LISTED)
            continue
        shown = repr(value) if _FIELDS[name].repr else "..."
        given[name] = _Given(value, f"{file}: {name} = {shown}", file.parent)


def _read_variables(given: dict[str, _Given], env: Mapping[str, str]) -> None:
    for name, spec in _FIELDS.items():
        value = env.get(_variable(name), "")
        if value.strip():
            shown = value if spec.repr else "..."
            given[name] = _Given(value, f"{_variable(name)}={shown}")


def _read_flags(given: dict[str, _Given], flags: Mapping[str, Any], wrong: _Wrong) -> None:
    for name, value in flags.items():
        if name not in _FIELDS:
            wrong.add(f"unknown setting '{name}'{_nearest(name)}")
        elif value is not None:
            shown = value if _FIELDS[name].repr else "..."
            given[name] = _Given(value, f"{_flag_name(name)} {shown}")


def _parsed(name: str, given: _Given, wrong: _Wrong) -> Any:
    try:
        return _FIELDS[name].metadata["parse"](given.value)
    except ValueError as error:
        wrong.add(f"{given.source}: {error}")
        return None


def _home(given: _Given | None, env: Mapping[str, str], cwd: Path, wrong: _Wrong) -> Path | None:
    """None where it is wrong: then there is no second file to look for either."""
    if given is None:
        return _default_home(env)
    written: Path | None = _parsed("home", given, wrong)
    try:
        return written and Path(os.path.normpath((given.folder or cwd) / written.expanduser()))
    except RuntimeError as error:
        wrong.add(f"{given.source}: {error}")
        return None


def _default_home(env: Mapping[str, str]) -> Path:
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


def _check_together(settings: Settings) -> None:
    if settings.heartbeat >= settings.lease:
        at_fault = settings.sources.get("heartbeat") or settings.sources.get("lease") or "heartbeat"
        raise UsageError(
            f"{at_fault}: heartbeat ({settings.heartbeat:g}s) must be less than lease ({settings.lease:g}s), "
            "or every lease would run out",
            remedy="a third of the lease is a good heartbeat",
        )


def _variable(name: str) -> str:
    return f"TENAX_{name.upper()}"


def _flag_name(name: str) -> str:
    return _FIELDS[name].metadata["flag"] or f"--{name.replace('_', '-')}"


def _nearest(name: str) -> str:
    close = difflib.get_close_matches(name, _FIELDS, n=1)
    return f"; did you mean '{close[0]}'?" if close else ""
