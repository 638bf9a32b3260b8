"""Declares the keys of a schedule: in a workflow file, and in requests that create one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from tenax.errors import Finding, InvalidDefinition
from tenax.model.durations import parse_duration
from tenax.model.parse.field_types import DURATION, MAPPING, is_number, refuse_template, text, whole
from tenax.model.parse.shape import (
    JsonSchema,
    KeysRule,
    Mismatch,
    Shape,
    ValueReader,
    declare,
    exclusive,
    faults,
    read_shape,
)
from tenax.model.schedule.cron import LONGEST, check_cron
from tenax.model.schedule.moments import MOMENT_PATTERN, check_moment, find_zone, read_moment
from tenax.model.schedule.schedule import (
    DEFAULT_CATCH_UP,
    MOST_CAUGHT_UP,
    MOST_FAILURES,
    MOST_MOMENTS,
    OVERLAPS,
    SHORTEST_INTERVAL,
    Overlap,
    Schedule,
)
from tenax.model.source.findings import describe_mismatch, format_path, shorten, suggest

_TIMES = ("cron", "every", "at")
_NO_TIMES = "a schedule needs `cron`, `every` or `at`"
_MOMENT: JsonSchema = {"type": "string", "pattern": MOMENT_PATTERN}


def _checked(check: Callable[[str], Any]) -> Callable[[Any], str]:
    """Returns a reader of text that `check` accepts."""

    def read(value: Any) -> str:
        refuse_template(value)
        check(text(value))
        return str(value)

    return read


def _cron(value: Any) -> str:
    refuse_template(value)
    return check_cron(text(value))


def _interval(value: Any) -> float:
    refuse_template(value)
    if not is_number(value) and not isinstance(value, str):
        raise Mismatch("a duration such as 10m or 1h")
    seconds = parse_duration(value)
    if seconds < SHORTEST_INTERVAL:
        raise ValueError(f"must be at least 1s, found {shorten(str(value))}")
    return seconds


def _moments(value: Any) -> list[str]:
    given = value if isinstance(value, list) else [value]
    if not given:
        raise ValueError("must not be empty")
    if len(given) > MOST_MOMENTS:
        raise ValueError(f"at most {MOST_MOMENTS} times")
    read = _checked(check_moment)
    wrong: list[tuple[tuple[int, ...], ValueError, Any]] = []
    for place, one in enumerate(given):
        try:
            read(one)
        except ValueError as error:
            wrong.append(((place,) if isinstance(value, list) else (), error, one))
    if wrong:
        raise faults(wrong)
    return given


def _overlap(value: Any) -> str:
    if value not in OVERLAPS:
        hint = suggest(value, OVERLAPS) if isinstance(value, str) else f" (there are: {', '.join(OVERLAPS)})"
        raise ValueError(f"`{shorten(str(value))}` is no way to treat an overlap{hint}")
    return str(value)


def _seconds(data: Mapping[str, Any], key: str) -> float | None:
    """Returns the seconds of a duration. Returns None if it is missing or wrong, which is reported where it stands."""
    try:
        return parse_duration(data[key])
    except (KeyError, ValueError):
        return None


def _jitter_is_long(data: Mapping[str, Any]) -> bool:
    jitter, every = _seconds(data, "jitter"), _seconds(data, "every")
    return jitter is not None and every is not None and jitter >= every


def _ends_early(data: Mapping[str, Any]) -> bool:
    try:
        zone = find_zone(data.get("timezone", "UTC"))
        return read_moment(data["start"], zone) >= read_moment(data["end"], zone)
    except (KeyError, TypeError, ValueError, AttributeError):
        return False


class ScheduleKeys(Shape):
    within = "in `schedule`"
    together: ClassVar[tuple[KeysRule, ...]] = (
        KeysRule(
            lambda data: not any(key in data for key in _TIMES),
            _NO_TIMES,
            {"anyOf": [{"required": [key]} for key in _TIMES]},
        ),
        exclusive("cron", "every"),
        exclusive("cron", "at"),
        exclusive("every", "at"),
        exclusive("at", "start"),
        exclusive("at", "end"),
        KeysRule(_jitter_is_long, "`jitter` must be shorter than `every`", {}, ("jitter",)),
        KeysRule(_ends_early, "`end` must be later than `start`", {}, ("end",)),
    )

    cron: str | None = declare(
        "a cron expression: minute, hour, day, month and weekday; with six fields the first one is the second. "
        "Also `@hourly`, `@daily`, `@weekly`, `@monthly` and `@yearly`",
        ValueReader(_cron, {"type": "string", "pattern": r"\S"}),
        extra={"maxLength": LONGEST},
    )
    every: float | None = declare(
        "an interval such as `10m`, from 1 s. It is counted from `start`, or else from 1970 in UTC, so that `10m` comes at :00, :10, :20",
        ValueReader(
            _interval,
            {
                "anyOf": [
                    {"type": "number", "minimum": SHORTEST_INTERVAL},
                    {"type": "string", "pattern": r"^\s*[0-9]"},
                ]
            },
        ),
    )
    at: Any = declare(
        f"a point in time, or a list of up to {MOST_MOMENTS}. Without a zone (`2030-01-31T09:30`) it is local time in `timezone`",
        ValueReader(
            _moments,
            {
                "anyOf": [
                    _MOMENT,
                    {"type": "array", "items": _MOMENT, "minItems": 1, "maxItems": MOST_MOMENTS},
                ]
            },
        ),
    )
    timezone: str = declare(
        "the zone of `cron` and of times without a zone: a name such as `Europe/Zurich`",
        ValueReader(_checked(find_zone), {"type": "string", "pattern": r"\S"}),
        default="UTC",
    )
    overlap: Overlap = declare(
        "what happens at a tick while the last execution still runs: `skip` the tick, `queue` it, `cancel` the last execution, or `allow` both",
        ValueReader(_overlap, {"enum": list(OVERLAPS)}),
        default="skip",
    )
    catch_up: int = declare(
        "how many missed ticks are made up for, the newest ones; 0 for none",
        whole(0, MOST_CAUGHT_UP),
        default=DEFAULT_CATCH_UP,
    )
    jitter: float | None = declare("delays each tick by a random time up to this one", DURATION)
    pause_after_failures: int | None = declare(
        "the schedule pauses itself when this many executions in a row have failed", whole(1, MOST_FAILURES)
    )
    start: str | None = declare(
        "no tick comes before this time", ValueReader(_checked(check_moment), _MOMENT)
    )
    end: str | None = declare("no tick comes after this time", ValueReader(_checked(check_moment), _MOMENT))
    input: dict[str, Any] = declare("the inputs of its executions", MAPPING, default={})


def schedule_of(keys: ScheduleKeys) -> Schedule:
    """Returns the schedule in canonical form, with all points in time in UTC."""
    zone = find_zone(keys.timezone)
    moments = keys.at if isinstance(keys.at, list) else [] if keys.at is None else [keys.at]
    return Schedule(
        cron=keys.cron,
        every=keys.every,
        at=tuple(sorted({read_moment(one, zone) for one in moments})),
        timezone=keys.timezone,
        overlap=keys.overlap,
        catch_up=keys.catch_up,
        jitter=keys.jitter,
        pause_after_failures=keys.pause_after_failures,
        start=read_moment(keys.start, zone) if keys.start is not None else None,
        end=read_moment(keys.end, zone) if keys.end is not None else None,
        input=keys.input,
    )


def read_schedule(body: Mapping[str, Any]) -> Schedule:
    """Reads a schedule that a request or a command gives. Raises InvalidDefinition with all mistakes."""
    keys, wrong = read_shape(ScheduleKeys, dict(body), lambda _: None)
    if wrong:
        raise InvalidDefinition([Finding(_words(fault), path=format_path(fault.path)) for fault in wrong])
    return schedule_of(keys)


def _words(fault: Any) -> str:
    if isinstance(fault.message, Mismatch):
        return describe_mismatch(fault.message.wanted, fault.value, None)
    return str(fault.message)
