"""Every setting once, with its default and its doc. Sources, each beating the one before: defaults, files, TENAX_*, flags."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from tenax.model.decision import CONDITION_WORK
from tenax.settings.home import default_home, read_path
from tenax.settings.values import (
    Address,
    Addresses,
    DatabaseAddress,
    Duration,
    Labels,
    Names,
    PositiveDuration,
    RetryShape,
    Share,
    Size,
    Text,
    WorkerName,
    one_of,
    size_within,
    some_of,
    whole_number,
)

RUNTIMES = ("python", "http", "process")
ADDRESSES = ("any", "public")
LOG_LEVELS = ("debug", "info", "warning", "error")
HEARTBEAT = 10.0
"""Seconds between the heartbeats of a worker, under a lease that is long enough."""


def setting(
    default: Any, doc: str, *, shown: str | None = None, flag: str | None = None, secret: bool = False
) -> Any:
    """Declares a setting. Its default is as people write it, or a function that makes it; `shown` is what the docs say of it."""
    about: dict[str, Any] = {"shown": shown, "flag": flag}
    made: dict[str, Any] = {"default_factory": default} if callable(default) else {"default": default}
    return Field(description=doc, json_schema_extra=about, repr=not secret, **made)


def _heartbeat_of(before: Mapping[str, float]) -> float:
    return min(HEARTBEAT, before["lease"] / 3)


class Settings(BaseModel):
    """What one process runs with."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    home: Annotated[Path, BeforeValidator(read_path)] = setting(
        lambda: default_home(os.environ),
        "the folder of the embedded database, its logs, and a tenax.toml",
        shown="/var/lib/tenax for root, else $XDG_DATA_HOME/tenax or ~/.local/share/tenax",
    )
    database_url: DatabaseAddress | None = setting(
        None,
        "a PostgreSQL (14 or newer) to use instead of the embedded one",
        shown="the embedded one",
        flag="--database",
        secret=True,
    )
    database_wait: Duration | None = setting(
        None,
        "how long a start waits for a PostgreSQL that is away",
        shown="none: for ever; commands other than `server` and `up`: 2s",
    )
    server: Addresses | None = setting(
        None,
        "the Tenax server that commands and workers speak to; several on one database with commas between them",
        shown="none: the database itself",
    )
    token: Text | None = setting(None, "the token shown to that server", shown="none", secret=True)
    host: Text = setting("127.0.0.1", "the address the server listens on; beyond loopback it wants tokens")
    port: Annotated[int, whole_number(0, 65535)] = setting(
        8520, "the port the server listens on; 0 takes a free one"
    )
    open: bool = setting(
        False,
        "true: as long as there are no tokens, everyone on this machine is let in, and no token is made",
    )
    callback_url: Address | None = setting(
        None,
        "the address at which the callees of async steps reach the server (its proxy's, where there is one)",
        shown="none: where it listens",
    )
    lease: PositiveDuration = setting("30s", "how long a worker holds a work item without a heartbeat")
    heartbeat: PositiveDuration = setting(
        _heartbeat_of,
        "how often a worker extends its leases; where only `lease` is given, at most a third of it",
        shown="10s",
    )
    timeout_grace: Duration = setting(
        "1s", "how long the server waits, after a timeout, for the worker's own report of it"
    )
    retries_enabled: bool = setting(True, "false: nothing is retried on this server")
    retry: RetryShape | None = setting(
        None, "the server's default retry policy: a table, in TENAX_RETRY as JSON", shown="none: one attempt"
    )
    max_body: Size = setting("16MB", "the largest body of a request")
    max_values: Annotated[int, whole_number(1000)] = setting(
        250000, "values in the JSON of one request, at most"
    )
    body_memory: Size = setting(
        "256MB", "memory for bodies that are read and answered at once; one token may have half of it"
    )
    max_head: Size = setting("64KB", "the largest request line and headers together")
    head_timeout: PositiveDuration = setting("10s", "how long a request's head may take to arrive")
    body_timeout: PositiveDuration = setting("1m", "how long a request's body may take to arrive")
    max_connections: Annotated[int, whole_number(1)] = setting(
        10000, "connections to a server, at most; the limit of open files may be lower"
    )
    max_connections_per_address: Annotated[int, whole_number(1)] = setting(
        1000, "connections from one address, at most; behind a proxy all have its address"
    )
    max_message: Annotated[int, whole_number(1)] = setting(
        4000, "characters that are kept of the message of a failure"
    )
    max_evidence: Size = setting("64KB", "what is kept of each text, and of the data, of a failure")
    max_late_result: Size = setting("4KB", "what is kept of a late report or callback, beside its digest")
    plan_memory: Size = setting("256MB", "memory for plans of workflows, by an estimate")
    max_definition: Annotated[int, size_within(most="8MB")] = setting(
        "4MB", "the largest definition that the server takes, at most 8MB"
    )
    max_steps: Annotated[int, whole_number(1, 20000)] = setting(10000, "the most steps of a definition")
    max_schema: Annotated[int, whole_number(1)] = setting(
        5000, "the most values in the schemas of all inputs of a definition"
    )
    definition_time: PositiveDuration = setting("30s", "processor time for reading one definition, at most")
    max_input: Size = setting("8MB", "the largest input that is checked in a process aside")
    input_time: PositiveDuration = setting("1s", "processor time for checking one input, at most")
    aside_processes: Annotated[int, whole_number(1, 64)] = setting(
        2, "processes beside the server for large definitions and slow checks"
    )
    aside_memory: Annotated[int, size_within(least="256MB")] = setting(
        "2GB", "the memory of each of these processes"
    )
    expression_work: Annotated[int, whole_number(1000)] = setting(
        CONDITION_WORK,
        "units of work (a character is 1, a value 16) for all conditions of one decision; each rendering of templates, and a step's `when`, has twice as many",
    )
    max_rendered: Size = setting("16MB", "the most that templates give or read, or views show")
    max_result: Size = setting(
        "8MB", "the largest answer of an `http` step, and the largest result file; within `max_body`"
    )
    loop_hold: Duration = setting(
        "50ms",
        "how long the server's event loop may be held before it warns and counts it; 0: nobody watches",
    )
    sweep: PositiveDuration = setting("30s", "how often the server looks for work that was left behind")
    workers: Annotated[int, whole_number(0)] = setting(2, "worker processes of `tenax up`")
    slots: Annotated[int, whole_number(1, 1000)] = setting(
        10, "work items that one worker runs at once, at most 1000"
    )
    queues: Names = setting("default", "the queues a worker serves", flag="--queue")
    runtimes: Annotated[tuple[str, ...], some_of(*RUNTIMES)] = setting(
        ",".join(RUNTIMES),
        "the runtimes a worker offers; steps of others are left to other workers",
        flag="--runtime",
    )
    labels: Labels = setting({}, "what a worker offers, such as gpu=yes,zone=a", shown="none", flag="--label")
    http_addresses: Annotated[str, one_of(*ADDRESSES)] = setting(
        "any",
        "the addresses that `http` steps may connect to: any; public: none that is private, loopback, link-local, "
        "multicast or of a cloud's metadata",
    )
    worker_name: WorkerName | None = setting(
        None, "the name of a worker", shown="its host and process id", flag="--name"
    )
    drain: Duration = setting(
        "30s", "how long a stopping worker lets its work finish before it hands it back"
    )
    worker_wait: PositiveDuration | None = setting(
        None,
        "how long work waits while no live worker is able to run it, before that is a failure",
        shown="none: for ever",
    )
    ageing: Duration = setting(
        "1m", "how long work waits to rise by one level of priority; 0: priorities are strict"
    )
    poison_after: Annotated[int, whole_number(0)] = setting(
        3, "a work item that has cost so many different workers their lease is quarantined; 0: none is"
    )
    drain_after: Annotated[int, whole_number(0)] = setting(
        5,
        "a worker that has been lost with work in its hands so often within `health_window` is drained; 0: none is",
    )
    max_hold: PositiveDuration = setting("1d", "how long a work item is held at most, before it fails")
    unhealthy_silence: PositiveDuration | None = setting(
        None, "a worker silent for so long is unhealthy", shown="the lease: 30s"
    )
    degraded_failures: Annotated[int, whole_number(1)] = setting(
        3, "from so many failures in a row on, a worker is degraded"
    )
    unhealthy_failures: Annotated[int, whole_number(1)] = setting(
        10, "from so many failures in a row on, a worker is unhealthy"
    )
    degraded_depth: Annotated[int, whole_number(1)] = setting(
        50, "from so many leased items on (and above its slots), a worker is degraded"
    )
    unhealthy_depth: Annotated[int, whole_number(1)] = setting(
        100, "from so many leased items on (and twice its slots), a worker is unhealthy"
    )
    degraded_rate: Share = setting("30%", "from this share of failures on, a worker is degraded")
    unhealthy_rate: Share = setting("70%", "from this share of failures on, a worker is unhealthy")
    health_window: PositiveDuration = setting("5m", "the time over which that share is taken")
    health_min_runs: Annotated[int, whole_number(1)] = setting(
        20, "with fewer runs in that time, the share says nothing"
    )
    probing: bool = setting(
        True, "false: an unhealthy worker is not tried again by itself (`tenax workers resume`)"
    )
    probe_after: PositiveDuration = setting(
        "1m", "how long an unhealthy worker waits for one item, to see whether it has recovered"
    )
    overload_lag: PositiveDuration = setting(
        "1s", "a worker whose own event loop comes so late asks for no more work"
    )
    metrics_keep: PositiveDuration = setting(
        "90d", "how long counts by minute are kept; the totals of `/metrics` are kept for ever"
    )
    metrics_window: PositiveDuration = setting(
        "1h", "the time over which rates of retries and failures are taken, for `/metrics` and alerts"
    )
    metrics_labels: Annotated[int, whole_number(1, 10000)] = setting(
        200, "steps, and reasons, that have series of their own in `/metrics`; all others are `other`"
    )
    alert_min_attempts: Annotated[int, whole_number(1)] = setting(
        20, "with fewer attempts in `metrics_window`, no alert on a rate fires"
    )
    alert_retry_rate: Share = setting("20%", "an alert fires above this share of retries in first attempts")
    alert_retry_success: Share = setting("70%", "an alert fires if a smaller share of retries succeeds")
    alert_unhealthy: Share = setting("50%", "an alert fires above this share of unhealthy workers")
    alert_queue_depth: Annotated[int, whole_number(1)] = setting(
        20, "an alert fires if workers hold more leased items than this on average"
    )
    log_level: Annotated[str, one_of(*LOG_LEVELS)] = setting("info", f"one of {', '.join(LOG_LEVELS)}")
    sources: Mapping[str, str] = Field(default_factory=dict, repr=False)
    """Where each value that is not a default was written."""
    from_folder: frozenset[str] = Field(default=frozenset(), repr=False)
    """The settings that a file of the working folder has chosen, and nobody else. Anyone may have written that file."""
