"""Declares each setting once, with its default and its description.

The sources, each of which overrides those before: defaults, files, TENAX_*, flags.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from tenax.model.decision import CONDITION_WORK
from tenax.model.definition.types import RUNTIMES
from tenax.settings.home import default_home, read_path
from tenax.settings.values import (
    Address,
    Addresses,
    CommandShape,
    DatabaseAddress,
    Duration,
    Labels,
    Names,
    PositiveDuration,
    RetryShape,
    Share,
    Size,
    Table,
    Text,
    WorkerName,
    one_of,
    size_within,
    some_of,
    whole_number,
)

ADDRESSES = ("any", "public")
LOG_LEVELS = ("debug", "info", "warning", "error")
HEARTBEAT = 10.0
"""Seconds between the heartbeats of a worker, if the lease is long enough."""


def setting(
    default: Any, doc: str, *, shown: str | None = None, flag: str | None = None, secret: bool = False
) -> Any:
    """Declares a setting. The default is written as people write it, or a function makes it. `shown` describes the default in the docs."""
    about: dict[str, Any] = {"shown": shown, "flag": flag}
    made: dict[str, Any] = {"default_factory": default} if callable(default) else {"default": default}
    return Field(description=doc, json_schema_extra=about, repr=not secret, **made)


def _heartbeat_of(before: Mapping[str, float]) -> float:
    return min(HEARTBEAT, before["lease"] / 3)


class Settings(BaseModel):
    """Holds the settings of one process."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    home: Annotated[Path, BeforeValidator(read_path)] = setting(
        lambda: default_home(os.environ),
        "the folder of the embedded database, its logs, and a tenax.toml",
        shown="/var/lib/tenax for root, else $XDG_DATA_HOME/tenax or ~/.local/share/tenax",
    )
    database_url: DatabaseAddress | None = setting(
        None,
        "the PostgreSQL (14 or newer) to use instead of the embedded one",
        shown="the embedded one",
        flag="--database",
        secret=True,
    )
    worker_database: DatabaseAddress | None = setting(
        None,
        "the database of Tenax for the [transactions](transactions.md) of tasks: `ctx.transaction()`",
        shown="none; `tenax run` uses its own",
        flag="--database",
        secret=True,
    )
    database_wait: Duration | None = setting(
        None,
        "how long a start waits for PostgreSQL while it cannot be reached",
        shown="none: no limit for `server` and `up`; 2s for other commands",
    )
    server: Addresses | None = setting(
        None,
        "the Tenax server for commands and workers, or several servers on one database with commas between them",
        shown="none: the database itself",
    )
    token: Text | None = setting(None, "the token for that server", shown="none", secret=True)
    host: Text = setting(
        "127.0.0.1", "the address on which the server listens. Beyond loopback it requires tokens"
    )
    port: Annotated[int, whole_number(0, 65535)] = setting(
        8520, "the port on which the server listens. 0 takes a free one"
    )
    open: bool = setting(
        False,
        "if true, the server makes no token, and while there are no tokens everyone on this machine has access",
    )
    callback_url: Address | None = setting(
        None,
        "the address at which the callees of async steps reach the server, or its proxy",
        shown="none: where it listens",
    )
    lease: PositiveDuration = setting("30s", "how long a worker holds a work item without a heartbeat")
    heartbeat: PositiveDuration = setting(
        _heartbeat_of,
        "how often a worker extends its leases. If only `lease` is set, at most a third of it",
        shown="10s",
    )
    timeout_grace: Duration = setting(
        "1s", "how long the server waits after a timeout for the worker's own report"
    )
    retries_enabled: bool = setting(True, "if false, this server retries nothing")
    retry: RetryShape | None = setting(
        None, "the server's default retry policy: a table, in TENAX_RETRY as JSON", shown="none: one attempt"
    )
    tiers: Table = setting(
        {},
        "the defaults of the [tiers](agents.md#tiers) of agents: a table for each of `legionary`, `centurion`, `tribune` with `retry`, `command`, `model`, in TENAX_TIERS as JSON",
        shown="none: legionary 3 attempts from 15s, centurion 2 from 30s, tribune 1",
    )
    agent_command: CommandShape | None = setting(
        None,
        "the command of agent steps without one of their own: a text for `sh -c`, or a list (in TENAX_AGENT_COMMAND as JSON)",
        shown="none",
    )
    max_body: Size = setting("16MB", "the largest body of a request")
    max_values: Annotated[int, whole_number(1000)] = setting(
        250000, "the most values in the JSON of one request"
    )
    body_memory: Size = setting(
        "256MB", "memory for all bodies that are processed at the same time. One token may use half of it"
    )
    max_head: Size = setting("64KB", "the largest request line and headers together")
    head_timeout: PositiveDuration = setting("10s", "how long a request's head may take to arrive")
    body_timeout: PositiveDuration = setting("1m", "how long a request's body may take to arrive")
    max_connections: Annotated[int, whole_number(1)] = setting(
        10000, "the most connections to a server. The limit of open files may be lower"
    )
    max_connections_per_address: Annotated[int, whole_number(1)] = setting(
        1000, "the most connections from one address. Behind a proxy all connections have its address"
    )
    max_message: Annotated[int, whole_number(1)] = setting(
        4000, "how many characters of a failure's message are kept"
    )
    max_evidence: Size = setting("64KB", "how much of each text and of the data of a failure is kept")
    max_late_result: Size = setting("4KB", "how much of a late report or callback is kept, beside its digest")
    max_checkpoint: Size = setting("64KB", "the largest checkpoint of an attempt, as JSON")
    max_output: Size = setting(
        "1MB",
        "how much is kept of what an attempt prints. Of more, the middle is cut. With 0 workers send nothing of it",
    )
    plan_memory: Size = setting("256MB", "memory for plans of workflows, by estimate")
    max_definition: Annotated[int, size_within(most="8MB")] = setting(
        "4MB", "the largest definition that the server accepts, at most 8MB"
    )
    max_steps: Annotated[int, whole_number(1, 20000)] = setting(10000, "the most steps of a definition")
    max_schema: Annotated[int, whole_number(1)] = setting(
        5000, "the most values in the schemas of all inputs of a definition"
    )
    max_pack: Size = setting("50MB", "the most bytes in the files of a pack that is installed")
    pack_cache: Size = setting(
        "1GB",
        "how much a worker keeps of the packs that it has fetched, in `$TENAX_HOME/packs`. Packs in use may exceed it",
    )
    definition_time: PositiveDuration = setting("30s", "the most processor time for reading one definition")
    max_input: Size = setting("8MB", "the largest input that is checked in a separate process")
    input_time: PositiveDuration = setting("1s", "the most processor time for checking one input")
    aside_processes: Annotated[int, whole_number(1, 64)] = setting(
        2, "the number of separate processes for large definitions and slow checks"
    )
    aside_memory: Annotated[int, size_within(least="256MB")] = setting(
        "2GB", "the memory of each of these processes"
    )
    expression_work: Annotated[int, whole_number(1000)] = setting(
        CONDITION_WORK,
        "units of work (a character is 1, a value 16) for all conditions of one decision. Each rendering of templates and each `when` of a step has twice as many",
    )
    max_rendered: Size = setting(
        "16MB", "the largest total of values that templates give or read, or that a view shows"
    )
    max_result: Size = setting(
        "8MB",
        "the largest answer of an `http` step, and the largest result file. It must be within `max_body`",
    )
    loop_hold: Duration = setting(
        "50ms",
        "how long the server's event loop may be held before the server warns and counts it. 0 switches the watch off",
    )
    sweep: PositiveDuration = setting("30s", "how often the server looks for work that was left behind")
    workers: Annotated[int, whole_number(0)] = setting(2, "the number of worker processes of `tenax up`")
    slots: Annotated[int, whole_number(1, 1000)] = setting(
        10, "the number of work items that one worker runs at once, at most 1000"
    )
    queues: Names = setting("default", "the queues that a worker serves", flag="--queue")
    runtimes: Annotated[tuple[str, ...], some_of(*RUNTIMES)] = setting(
        ",".join(RUNTIMES),
        "the runtimes that a worker offers. It takes no steps of other runtimes",
        flag="--runtime",
    )
    labels: Labels = setting(
        {}, "the labels that a worker offers, such as gpu=yes,zone=a", shown="none", flag="--label"
    )
    http_addresses: Annotated[str, one_of(*ADDRESSES)] = setting(
        "any",
        "the addresses to which `http` steps may connect: `any`, or `public`, which excludes private, loopback, "
        "link-local and multicast addresses, and those of a cloud's metadata",
    )
    worker_name: WorkerName | None = setting(
        None, "the name of a worker", shown="its host and process id", flag="--name"
    )
    drain: Duration = setting(
        "30s", "how long a stopping worker lets its attempts finish before it hands them back"
    )
    worker_wait: PositiveDuration | None = setting(
        None,
        "how long work may wait while no live worker is able to run it. After that it has failed",
        shown="none: for ever",
    )
    ageing: Duration = setting(
        "1m", "the waiting time that raises work by one level of priority. With 0 waiting does not count"
    )
    poison_after: Annotated[int, whole_number(0)] = setting(
        3,
        "the number of different workers after whose lost leases a work item is quarantined. With 0 none is",
    )
    drain_after: Annotated[int, whole_number(0)] = setting(
        5,
        "how often within `health_window` a worker may be lost while it has work before it is drained. With 0 none is",
    )
    max_hold: PositiveDuration = setting("1d", "the longest time that a work item is held before it fails")
    unhealthy_silence: PositiveDuration | None = setting(
        None, "the time after which a silent worker is unhealthy", shown="the lease: 30s"
    )
    degraded_failures: Annotated[int, whole_number(1)] = setting(
        3, "the number of failures in a row from which a worker is degraded"
    )
    unhealthy_failures: Annotated[int, whole_number(1)] = setting(
        10, "the number of failures in a row from which a worker is unhealthy"
    )
    degraded_depth: Annotated[int, whole_number(1)] = setting(
        50, "the number of leased items from which a worker is degraded, if it is above its slots"
    )
    unhealthy_depth: Annotated[int, whole_number(1)] = setting(
        100, "the number of leased items from which a worker is unhealthy, if it is at least twice its slots"
    )
    degraded_rate: Share = setting("30%", "the share of failures from which a worker is degraded")
    unhealthy_rate: Share = setting("70%", "the share of failures from which a worker is unhealthy")
    health_window: PositiveDuration = setting("5m", "the time over which that share is computed")
    health_min_runs: Annotated[int, whole_number(1)] = setting(
        20, "the number of runs in that time below which the share is ignored"
    )
    probing: bool = setting(
        True, "if false, an unhealthy worker gets work again only by `tenax workers resume`"
    )
    probe_after: PositiveDuration = setting(
        "1m", "how long an unhealthy worker waits until it gets one item as a probe"
    )
    overload_lag: PositiveDuration = setting(
        "1s", "the delay of its event loop from which a worker asks for no more work"
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
    """Where each value that is not a default was written, by setting."""
    from_folder: frozenset[str] = Field(default=frozenset(), repr=False)
    """The settings that only a file of the working folder sets. Anyone may have written that file."""
