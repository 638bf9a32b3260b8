"""Every setting once, with its default and its doc. Sources, each beating the one before: defaults, file, TENAX_*, flags."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from tenax import setting_values as values
from tenax.credentials.private_variables import own_variables
from tenax.model.decision import CONDITION_WORK
from tenax.setting_checks import check_together, mistyped_variables, warn_of_variable
from tenax.setting_sources import (
    Given,
    Wrong,
    chosen_by_folder,
    default_home,
    parse,
    read_file,
    read_flags,
    read_variables,
)

FILE_NAME = "tenax.toml"
RUNTIMES = ("python", "http", "process")
ADDRESSES = ("any", "public")
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
        default_factory=lambda: default_home(os.environ),
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
    database_wait: float | None = _setting(
        None,
        values.seconds,
        "how long a start waits for a PostgreSQL that is away",
        shown="none: for ever; commands other than `server` and `up`: 2s",
    )
    server: str | None = _setting(
        None,
        values.server_urls,
        "the Tenax server that commands and workers speak to; several on one database with commas between them",
        shown="none: the database itself",
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
    open: bool = _setting(
        False,
        values.truth,
        "true: as long as there are no tokens, everyone on this machine is let in, and no token is made",
        shown="false",
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
    max_values: int = _setting(
        250_000, values.whole_number(1000), "values in the JSON of one request, at most"
    )
    body_memory: int = _setting(
        256_000_000,
        values.size_in_bytes,
        "memory for bodies that are read and answered at once; one token may have half of it",
        shown="256MB",
    )
    max_head: int = _setting(
        64_000, values.size_in_bytes, "the largest request line and headers together", shown="64KB"
    )
    head_timeout: float = _setting(
        10.0, values.positive_seconds, "how long a request's head may take to arrive", shown="10s"
    )
    body_timeout: float = _setting(
        60.0, values.positive_seconds, "how long a request's body may take to arrive", shown="1m"
    )
    max_connections: int = _setting(
        10_000,
        values.whole_number(1),
        "connections to a server, at most; the limit of open files may be lower",
    )
    max_connections_per_address: int = _setting(
        1000,
        values.whole_number(1),
        "connections from one address, at most; behind a proxy all have its address",
    )
    max_message: int = _setting(
        4000, values.whole_number(1), "characters that are kept of the message of a failure"
    )
    max_evidence: int = _setting(
        64_000, values.size_in_bytes, "what is kept of each text, and of the data, of a failure", shown="64KB"
    )
    max_late_result: int = _setting(
        4000,
        values.size_in_bytes,
        "what is kept of a late report or callback, beside its digest",
        shown="4KB",
    )
    plan_memory: int = _setting(
        256_000_000, values.size_in_bytes, "memory for plans of workflows, by an estimate", shown="256MB"
    )
    max_definition: int = _setting(
        4_000_000,
        values.size_within(most="8MB"),
        "the largest definition that the server takes, at most 8MB",
        shown="4MB",
    )
    max_steps: int = _setting(10_000, values.whole_number(1, 20_000), "the most steps of a definition")
    max_schema: int = _setting(
        5_000, values.whole_number(1), "the most values in the schemas of all inputs of a definition"
    )
    definition_time: float = _setting(
        30.0, values.positive_seconds, "processor time for reading one definition, at most", shown="30s"
    )
    max_input: int = _setting(
        8_000_000, values.size_in_bytes, "the largest input that is checked in a process aside", shown="8MB"
    )
    input_time: float = _setting(
        1.0, values.positive_seconds, "processor time for checking one input, at most", shown="1s"
    )
    aside_processes: int = _setting(
        2, values.whole_number(1, 64), "processes beside the server for large definitions and slow checks"
    )
    aside_memory: int = _setting(
        2_000_000_000, values.size_within(least="256MB"), "the memory of each of these processes", shown="2GB"
    )
    expression_work: int = _setting(
        CONDITION_WORK,
        values.whole_number(1000),
        "units of work (a character is 1, a value 16) for all conditions of one decision; each rendering of templates, and a step's `when`, has twice as many",
    )
    max_rendered: int = _setting(
        16_000_000, values.size_in_bytes, "the most that templates give or read, or views show", shown="16MB"
    )
    max_result: int = _setting(
        8_000_000,
        values.size_in_bytes,
        "the largest answer of an `http` step, and the largest result file; within `max_body`",
        shown="8MB",
    )
    loop_hold: float = _setting(
        0.05,
        values.seconds,
        "how long the server's event loop may be held before it warns and counts it; 0: nobody watches",
        shown="50ms",
    )
    sweep: float = _setting(
        30.0, values.positive_seconds, "how often the server looks for work that was left behind", shown="30s"
    )
    workers: int = _setting(2, values.whole_number(0), "worker processes of `tenax up`")
    slots: int = _setting(
        10, values.whole_number(1, 1000), "work items that one worker runs at once, at most 1000"
    )
    queues: tuple[str, ...] = _setting(
        ("default",), values.names, "the queues a worker serves", shown="default", flag="--queue"
    )
    runtimes: tuple[str, ...] = _setting(
        RUNTIMES,
        values.some_of(*RUNTIMES),
        "the runtimes a worker offers; steps of others are left to other workers",
        shown=",".join(RUNTIMES),
        flag="--runtime",
    )
    labels: Mapping[str, str] = field(
        default_factory=dict,
        metadata=_about(
            values.labels, "what a worker offers, such as gpu=yes,zone=a", shown="none", flag="--label"
        ),
    )
    http_addresses: str = _setting(
        "any",
        values.one_of(*ADDRESSES),
        "the addresses that `http` steps may connect to: any; public: none that is private, loopback, link-local, "
        "multicast or of a cloud's metadata",
    )
    worker_name: str | None = _setting(
        None, values.worker_name, "the name of a worker", shown="its host and process id", flag="--name"
    )
    drain: float = _setting(
        30.0,
        values.seconds,
        "how long a stopping worker lets its work finish before it hands it back",
        shown="30s",
    )
    worker_wait: float | None = _setting(
        None,
        values.positive_seconds,
        "how long work waits while no live worker is able to run it, before that is a failure",
        shown="none: for ever",
    )
    ageing: float = _setting(
        60.0,
        values.seconds,
        "how long work waits to rise by one level of priority; 0: priorities are strict",
        shown="1m",
    )
    poison_after: int = _setting(
        3,
        values.whole_number(0),
        "a work item that has cost so many different workers their lease is quarantined; 0: none is",
    )
    drain_after: int = _setting(
        5,
        values.whole_number(0),
        "a worker that has been lost with work in its hands so often within `health_window` is drained; 0: none is",
    )
    max_hold: float = _setting(
        86400.0, values.positive_seconds, "how long a work item is held at most, before it fails", shown="1d"
    )
    unhealthy_silence: float | None = _setting(
        None, values.positive_seconds, "a worker silent for so long is unhealthy", shown="the lease: 30s"
    )
    degraded_failures: int = _setting(
        3, values.whole_number(1), "from so many failures in a row on, a worker is degraded"
    )
    unhealthy_failures: int = _setting(
        10, values.whole_number(1), "from so many failures in a row on, a worker is unhealthy"
    )
    degraded_depth: int = _setting(
        50,
        values.whole_number(1),
        "from so many leased items on (and above its slots), a worker is degraded",
    )
    unhealthy_depth: int = _setting(
        100,
        values.whole_number(1),
        "from so many leased items on (and twice its slots), a worker is unhealthy",
    )
    degraded_rate: float = _setting(
        0.3, values.share, "from this share of failures on, a worker is degraded", shown="30%"
    )
    unhealthy_rate: float = _setting(
        0.7, values.share, "from this share of failures on, a worker is unhealthy", shown="70%"
    )
    health_window: float = _setting(
        300.0, values.positive_seconds, "the time over which that share is taken", shown="5m"
    )
    health_min_runs: int = _setting(
        20, values.whole_number(1), "with fewer runs in that time, the share says nothing"
    )
    probing: bool = _setting(
        True,
        values.truth,
        "false: an unhealthy worker is not tried again by itself (`tenax workers resume`)",
        shown="true",
    )
    probe_after: float = _setting(
        60.0,
        values.positive_seconds,
        "how long an unhealthy worker waits for one item, to see whether it has recovered",
        shown="1m",
    )
    overload_lag: float = _setting(
        1.0,
        values.positive_seconds,
        "a worker whose own event loop comes so late asks for no more work",
        shown="1s",
    )
    log_level: str = _setting("info", values.one_of(*LOG_LEVELS), f"one of {', '.join(LOG_LEVELS)}")
    sources: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    from_folder: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """The settings that a file of the working folder has chosen, and nobody else. Anyone may have written that file."""


_FIELDS = {spec.name: spec for spec in fields(Settings) if "parse" in spec.metadata}


def load_settings(
    flags: Mapping[str, Any] | None = None, *, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Settings:
    """Settings from all sources. Of the two files the one in the working folder is the nearer and wins, key by key.

    `flags` are keyed by field name; None means not given, as an empty variable does. Everything that is wrong is
    reported at once, in one UsageError.
    """
    env = own_variables() if env is None else env
    cwd = Path.cwd() if cwd is None else cwd
    for variable, meant in mistyped_variables(env, _FIELDS):
        warn_of_variable(variable, meant)
    wrong = Wrong()
    beside = read_file(cwd / FILE_NAME, _FIELDS, wrong)
    near = {
        **beside,
        **read_variables(env, _FIELDS),
        **read_flags(flags or {}, _FIELDS, wrong),
    }
    home = _home(near.get("home"), env, cwd, wrong)
    far: dict[str, Given] = {}
    if home is not None and home != cwd:
        far = read_file(home / FILE_NAME, _FIELDS, wrong)
        if "home" in far:
            wrong.add(
                f"{far.pop('home').source}: this file is found through `home`, so it cannot set it",
                remedy=f"set TENAX_HOME, or write home into {cwd / FILE_NAME}",
            )
    given = {**far, **near}
    parsed = {name: parse(one, _FIELDS[name], wrong) for name, one in given.items() if name != "home"}
    wrong.refuse()
    parsed["home"] = home
    if "lease" in parsed and "heartbeat" not in parsed:
        parsed["heartbeat"] = min(_FIELDS["heartbeat"].default, parsed["lease"] / 3)
    settings = Settings(
        **parsed,
        sources={name: one.source for name, one in given.items()},
        from_folder=chosen_by_folder(given, beside, far, is_home=home == cwd),
    )
    check_together({name: getattr(settings, name) for name in _FIELDS}, settings.sources)
    return settings


def _home(given: Given | None, env: Mapping[str, str], cwd: Path, wrong: Wrong) -> Path | None:
    """None where it is wrong: then there is no second file to look for either."""
    if given is None:
        return default_home(env)
    written: Path | None = parse(given, _FIELDS["home"], wrong)
    try:
        return written and Path(os.path.normpath((given.folder or cwd) / written.expanduser()))
    except RuntimeError as error:
        wrong.add(f"{given.source}: {error}")
        return None


def find_home(*, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Path:
    """Returns the home that `load_settings` would find. A wrong value is passed over: whoever needs it more says so."""
    env = os.environ if env is None else env
    try:
        cwd = Path.cwd() if cwd is None else cwd
    except FileNotFoundError:  # it was removed
        cwd = Path("/")
    given = {**read_file(cwd / FILE_NAME, _FIELDS, Wrong()), **read_variables(env, _FIELDS)}
    return _home(given.get("home"), env, cwd, Wrong()) or default_home(env)
