"""Translates the schedules of CronJobs and CronWorkflows."""

from __future__ import annotations

from typing import Any

from tenax.dialects.native.workflow import NativeWorkflow
from tenax.dialects.reading.fields import Fields
from tenax.model.schedule.cron import check_cron
from tenax.model.schedule.moments import find_zone

_OVERLAPS = {"Allow": "allow", "Forbid": "skip", "Replace": "cancel"}
_ZONE_PREFIXES = ("TZ=", "CRON_TZ=")
SCHEDULE_KEYS = ("schedule", "schedules", "timezone", "timeZone", "concurrencyPolicy", "startingDeadlineSeconds", "suspend")  # fmt: skip


def read_schedule(workflow: NativeWorkflow, spec: Fields, *, catches_up: bool) -> None:
    """Gives the workflow the schedule of a CronJob or a CronWorkflow. `catches_up` says whether the other system makes up
    for a missed start without a deadline for it."""
    key = spec.first_of("schedules", "schedule")
    expression, *others = [str(one) for one in spec.listed(key)] or [""]
    zone_key = spec.first_of("timeZone", "timezone")
    zone = spec.text(zone_key, "UTC")
    first, _, rest = expression.partition(" ")
    if first.startswith(_ZONE_PREFIXES):
        zone, expression = first.partition("=")[2], rest
    made: dict[str, Any] = {}
    try:
        made["cron"] = check_cron(expression)
        find_zone(zone)
    except ValueError as error:
        spec.note("dropped", key, f"is not carried over: {error}")
        spec.ignore(*SCHEDULE_KEYS)
        return
    if zone != "UTC":
        made["timezone"] = zone
    overlap = spec.one_of("concurrencyPolicy", _OVERLAPS, "Allow")
    if overlap != "skip":
        made["overlap"] = overlap
    if not catches_up and not spec.number("startingDeadlineSeconds"):
        made["catch_up"] = 0
    workflow.schedule = made
    spec.note("understood", key, "becomes the `schedule` of the workflow, which applies once it is stored")
    if others:
        spec.note("dropped", key, f"only the first expression is carried over, without {', '.join(others)}")
    if "startingDeadlineSeconds" in spec:
        spec.note("changed", "startingDeadlineSeconds", "a missed start is made up for however late it is")
    if spec.flag("suspend", default=False):
        name = workflow.name
        spec.note("dropped", "suspend", f"is not carried over: pause it by `tenax schedules pause {name}`")
