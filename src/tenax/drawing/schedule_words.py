"""Writes schedules and what they did in words, for the command line and the dashboard."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tenax.model.durations import format_duration
from tenax.model.schedule.moments import find_zone

_SKIPPED = {
    "missed": "no server ran at its time",
    "overlap": "the last execution still ran",
    "queue_full": "another tick waited already",
    "replaced": "a newer tick took its place",
}
_STARTED = {
    "tick": "at its time",
    "caught_up": "made up for",
    "queued": "after the execution before it",
    "by_hand": "by hand",
}


def times_words(schedule: Mapping[str, Any]) -> str:
    """Says when a schedule starts: `cron 0 3 * * * in Europe/Zurich`, `every 10m`, `at 2030-01-31 09:30:00Z`."""
    if "cron" in schedule:
        return f"cron {schedule['cron']} in {schedule.get('timezone', 'UTC')}"
    if "every" in schedule:
        return f"every {format_duration(schedule['every'])}"
    first, *more = schedule["at"]
    return f"at {first.replace('T', ' ')}" + (f" and {len(more)} more" if more else "")


def rules_words(schedule: Mapping[str, Any]) -> list[str]:
    """Says what else is declared of a schedule, one text for each key that is not at its default."""
    words = [f"overlap: {schedule['overlap']}"] if "overlap" in schedule else []
    if "catch_up" in schedule:
        words.append(f"catch_up: {schedule['catch_up']}")
    if "jitter" in schedule:
        words.append(f"jitter: {format_duration(schedule['jitter'])}")
    if "pause_after_failures" in schedule:
        words.append(f"pause_after_failures: {schedule['pause_after_failures']}")
    words += [f"{key}: {schedule[key]}" for key in ("start", "end") if key in schedule]
    return words


def run_words(run: Mapping[str, Any]) -> str:
    """Says what a schedule did."""
    reason = str(run["reason"])
    match run["kind"]:
        case "started":
            return f"started {_STARTED.get(reason, reason)}"
        case "skipped" if run["until"]:
            return f"skipped, with all ticks up to {run['until']}: {_SKIPPED.get(reason, reason)}"
        case "skipped":
            return f"skipped: {_SKIPPED.get(reason, reason)}"
        case "failed":
            return f"could not start: {run['note']}"
        case _:
            return f"paused itself: {run['note']}"


def local_time(tick: str, schedule: Mapping[str, Any]) -> str:
    """Returns a tick in the zone of its schedule."""
    moment = datetime.fromisoformat(tick).astimezone(find_zone(schedule.get("timezone", "UTC")))
    return moment.isoformat(sep=" ", timespec="seconds")
