"""Defines the data of events of workers and of submissions, which belong to no execution."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, field

from tenax.model.events.parts import EventData, Time
from tenax.model.fleet.health import Health

HealthValue = float | bool | str | None


class WorkerRegisteredData(EventData):
    worker: str
    version: str | None
    runtimes: list[str]
    queues: list[str]
    labels: dict[str, str]
    slots: int
    took_over: Annotated[bool, Meta(description="true if an earlier life had the name and had not ended")]


class HealthChangedData(EventData):
    worker: str
    from_: Health = field(name="from")
    to: Health
    column: Annotated[str | None, Meta(description="the column that decides; null if the worker is healthy")]
    value: HealthValue
    threshold: HealthValue
    floored: bool
    columns: Annotated[dict[str, HealthValue], Meta(description="the value of each column")]
    probe_at: Time | UnsetType = UNSET


class WorkerDrainedData(EventData):
    worker: str
    reason: str
    losses: int


class WorkerLostData(EventData):
    worker: str
    last_heartbeat: Time


class SubmissionRejectedData(EventData):
    id: Annotated[int, Meta(description="the id that `tenax.submit` returned")]
    workflow: str | None
    key: str | None
    reason: Annotated[str, Meta(description="the code of the error, such as `invalid_input`")]
    message: str
