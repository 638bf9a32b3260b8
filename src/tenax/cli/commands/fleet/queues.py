"""Lists queues with their work, workers and limits, sets limits, and pauses queues."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import run_async
from tenax.cli.flags import DEFAULT_TARGET, Json, TargetFlags, worker_command
from tenax.cli.output import print_json, say
from tenax.cli.output import show as show_
from tenax.drawing.text_lines import one_line, to_the_second
from tenax.errors import UsageError
from tenax.model.fleet.queue_limits import MAX_LIMIT, QueueLimits, parse_rate, rate_words, usual_burst
from tenax.model.source.findings import nearest, shorten, suggest

if TYPE_CHECKING:
    from rich.console import RenderableType

queues = App(name="queues", help="List queues, limit, pause or resume one.")

Queue = Mapping[str, Any]

_NONE = "none"
_MAX_NAMED = 5  # workers of a queue that a note names
_COUNTS = ("ready", "waiting", "running", "blocked", "workers")
_TITLES = (
    "queue", "ready", "waiting", "running", "blocked", "oldest", "ended/min", "workers", "concurrency", "rate", "burst",
)  # fmt: skip
_RANKS = {
    "burst": 1,
    "rate": 2,
    "concurrency": 3,
    "ended/min": 4,
    "oldest": 5,
    "blocked": 6,
    "waiting": 7,
    "workers": 8,
    "running": 9,
}
"""The columns that are left out if there is no room, in this order."""
_NUMBERS = (*_COUNTS, "ended/min", "concurrency", "rate", "burst")


@queues.default
def list_(
    *words: Annotated[str, Parameter(show=False)], json: Json = False, where: TargetFlags = DEFAULT_TARGET
) -> None:
    """List the queues that have work, workers or limits."""
    if words:
        raise UsageError(
            f"unknown command `queues {shorten(words[0])}`{suggest(words[0], ('limit', 'pause', 'resume'))}",
            remedy=f"limit a queue: {where.command('queues', 'limit', words[0], '--concurrency', 'N')}",
        )
    found = run_async(_listed(where))
    if json:
        print_json(found)
    elif found:
        show_(_table(found), *_unserved(found, where))
    else:
        say("no queues: nothing is queued, no worker is live, and there are no limits")


async def _listed(where: TargetFlags) -> list[dict[str, Any]]:
    async with open_backend(where.settings()) as backend:
        return list(await backend.queues())


@queues.command
def limit(
    name: Annotated[str, Parameter(name="NAME", help="The name of a queue.")],
    /,
    *,
    concurrency: Annotated[
        str | None,
        Parameter(help="The number of its items that may run at once, or none.", allow_leading_hyphen=True),
    ] = None,
    rate: Annotated[
        str | None,
        Parameter(
            help="The rate at which its items may start, such as 10/s, 600/m or 60/h, or none.",
            allow_leading_hyphen=True,
        ),
    ] = None,
    burst: Annotated[
        str | None,
        Parameter(
            help="The number of its items that may start at once after a pause. [the number that the rate allows in a second]",
            allow_leading_hyphen=True,
        ),
    ] = None,
    reason: Annotated[str | None, Parameter(help="The reason, which is recorded.")] = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Limit a queue. Limits that are not named stay as they are."""
    if concurrency is rate is burst is None:
        raise UsageError(
            "there is no limit to set", remedy="name --concurrency or --rate, with a number or `none`"
        )
    change = _LimitChange(
        {"concurrency": _whole("--concurrency", concurrency), "rate": _rate(rate), "burst": _burst(burst)},
        named={
            key
            for key, value in (("concurrency", concurrency), ("rate", rate), ("burst", burst))
            if value is not None
        },
    )
    limited, known = run_async(_limited(where, name, change, reason))
    if json:
        print_json(limited)
    else:
        say("\n  ".join([f"queue {name}: {_limits_words(limited)}", *_unknown(name, known)]))


QueueName = Annotated[str, Parameter(name="NAME", help="The name of a queue.")]
Reason = Annotated[str | None, Parameter(help="The reason, which is recorded.")]


@queues.command
def pause(
    name: QueueName, /, *, reason: Reason = None, json: Json = False, where: TargetFlags = DEFAULT_TARGET
) -> None:
    """Pause a queue. None of its items starts until it is resumed. Running attempts may finish."""
    changed, known = run_async(_paused(where, name, reason, paused=True))
    if json:
        print_json({"queue": name, "paused": True, "changed": changed})
        return
    words = "is paused" if changed else "was paused already"
    go_on = f"let it go on: {where.command('queues', 'resume', name)}"
    say("\n  ".join([f"queue {name} {words}", *_unknown(name, known), go_on]))


@queues.command
def resume(
    name: QueueName, /, *, reason: Reason = None, json: Json = False, where: TargetFlags = DEFAULT_TARGET
) -> None:
    """Resume a paused queue."""
    changed, known = run_async(_paused(where, name, reason, paused=False))
    if json:
        print_json({"queue": name, "paused": False, "changed": changed})
    else:
        words = "goes on" if changed else "was not paused"
        say("\n  ".join([f"queue {name} {words}", *_unknown(name, known)]))


async def _paused(
    where: TargetFlags, name: str, reason: str | None, *, paused: bool
) -> tuple[bool, list[str]]:
    """Pauses or resumes a queue. Returns whether that changed something, and the queues that were known before."""
    async with open_backend(where.settings()) as backend:
        known = [one["queue"] for one in await backend.queues()]
        verb = backend.pause_queue if paused else backend.resume_queue
        return await verb(name, reason=reason), known


class _LimitChange:
    """Holds the limits that a command line names. The others stay as they are."""

    def __init__(self, values: Mapping[str, Any], *, named: set[str]) -> None:
        self._values = values
        self._named = named

    def applied_to(self, before: Queue) -> QueueLimits:
        """Returns the new limits. A burst that was only derived from the rate is derived again from the new rate."""
        merged = {key: self._values[key] if key in self._named else before.get(key) for key in self._values}
        if "burst" not in self._named and (merged["rate"] is None or _is_usual(before)):
            merged["burst"] = None
        return QueueLimits(**merged)


def _is_usual(before: Queue) -> bool:
    return before.get("rate") is not None and before["burst"] == usual_burst(before["rate"])


async def _limited(
    where: TargetFlags, name: str, change: _LimitChange, reason: str | None
) -> tuple[dict[str, Any], list[str]]:
    """Sets the limits. Returns the new limits, and the names of the queues that were known before."""
    async with open_backend(where.settings()) as backend:
        known = {one["queue"]: one for one in await backend.queues()}
        limits = change.applied_to(known.get(name, {}))
        return await backend.limit_queue(name, limits, reason=reason), list(known)


def _unknown(name: str, known: Sequence[str]) -> Sequence[str]:
    """Returns a hint if the queue was not known before, since its name may be mistyped."""
    if name in known:
        return ()
    meant = nearest(name, known)
    did_you_mean = f"; did you mean `{meant}`?" if meant else ""
    return (f"nothing is queued there, and no live worker serves it{did_you_mean}",)


def _whole(flag: str, text: str | None) -> int | None:
    if text is None or text == _NONE:
        return None
    if not re.fullmatch(r"[0-9]{1,9}", text, re.ASCII) or not 1 <= int(text) <= MAX_LIMIT:
        raise UsageError(
            f"{flag} {shorten(text)}: expected a whole number from 1 to {MAX_LIMIT:,}{_or_none(flag)}"
        )
    return int(text)


def _or_none(flag: str) -> str:
    return "" if flag == "--burst" else ", or `none`"


def _burst(text: str | None) -> int | None:
    if text == _NONE:
        raise UsageError("--burst none: a rate always has a burst", remedy="the smallest is --burst 1")
    return _whole("--burst", text)


def _rate(text: str | None) -> float | None:
    return None if text is None or text == _NONE else parse_rate("--rate", text, or_else=", or `none`")


def _limits_words(limits: Queue) -> str:
    words = []
    if limits["concurrency"] is not None:
        words.append(f"at most {limits['concurrency']:,} at once")
    if limits["rate"] is not None:
        words.append(f"at most {rate_words(limits['rate'])} started, {limits['burst']:,} of them at once")
    return ", ".join(words) or "no limits"


def _table(found: Sequence[Queue]) -> RenderableType:
    from rich.text import Text

    from tenax.cli.render.table import Column, RankedTable

    columns = [Column(title, rank=_RANKS.get(title), right=title in _NUMBERS) for title in _TITLES]
    rows = []
    for one in found:
        counts = {name: Text(f"{one[name]:,}") for name in _COUNTS}
        if _is_unserved(one):
            counts["workers"].stylize("bold red")
        limits = [
            "-" if one["concurrency"] is None else f"{one['concurrency']:,}",
            "-" if one["rate"] is None else rate_words(one["rate"]),
            "-" if one["burst"] is None else f"{one['burst']:,}",
        ]
        oldest = Text(to_the_second(one["oldest_at"]) if one["oldest_at"] else "-")
        first = [Text(one_line(one["queue"])), *(counts[name] for name in _COUNTS[:-1]), oldest]
        ended = one.get("ended_per_minute")  # an older server does not say it
        per_minute = Text("-" if ended is None else f"{ended:,.1f}")
        rows.append([*first, per_minute, counts["workers"], *map(Text, limits)])
    return RankedTable(columns, rows)


def _is_unserved(one: Queue) -> bool:
    return bool(one["ready"] + one["waiting"] + one["blocked"]) and not one["workers"]


def _unserved(found: Sequence[Queue], where: TargetFlags) -> Sequence[RenderableType]:
    from rich.text import Text

    lines = [_pause_words(one, where) for one in found if one["paused_by"]]
    lines += [_idle(one, where) for one in found if _is_unserved(one) and one["idle"]]
    names = [one["queue"] for one in found if _is_unserved(one) and not one["idle"]]
    if names:
        start = worker_command(where, *(part for name in names for part in ("--queue", name)))
        lines.append(f"no live worker serves {', '.join(names)}; start one: {start}")
    return [Text(line, style="yellow") for line in lines]


def _pause_words(one: Queue, where: TargetFlags) -> str:
    why = f": {one_line(one['paused_why'])}" if one["paused_why"] else ""
    go_on = where.command("queues", "resume", one["queue"])
    since = to_the_second(one["paused_at"])
    return (
        f"{one['queue']} is paused by {one_line(one['paused_by'])} since {since}{why}; let it go on: {go_on}"
    )


def _idle(one: Queue, where: TargetFlags) -> str:
    """Says that the live workers of a queue take no work, and why."""
    from tenax.cli.render.why_blocked import wake

    idle = one["idle"]
    named = ", ".join(f"{worker['name']} is {worker['state']}" for worker in idle[:_MAX_NAMED])
    more = f" and {len(idle) - _MAX_NAMED} more" if len(idle) > _MAX_NAMED else ""
    return f"no worker of {one['queue']} takes work: {named}{more}; {wake(idle, where)}"
