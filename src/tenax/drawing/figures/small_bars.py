"""Draws small bars: the parts of one delay, and what of a budget is spent, reserved and left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tenax.drawing.markup import document, element, label, line, number, rect, wrapped
from tenax.model.decision import DelayParts
from tenax.model.durations import format_duration

_TOP, _BAR, _LINE = 22.0, 14.0, 15.0
_FAR = 3.0  # times the longest other part: a cap beyond that is named, and not drawn to scale


def delay_parts(decision: Mapping[str, Any]) -> DelayParts | None:
    """Returns the parts of the delay of a recorded decision. Returns None if it planned none."""
    found = decision.get("delay")
    return msgspec.convert(found, DelayParts) if isinstance(found, Mapping) else None


def draw_delay_bar(parts: DelayParts, *, width: float = 360, standalone: bool = False) -> str:
    """Draws one delay: the curve, what jitter took or added, what the callee asked for, and the cap."""
    words = delay_words(parts)
    lines = wrapped(words, width, 11)
    longest = max(parts.delay, parts.curve or 0.0, parts.jittered or 0.0, _asked(parts) or 0.0, 0.001)
    cap = parts.cap if parts.cap is not None and parts.cap <= longest * _FAR else None
    scale = (width - 8) / max(longest, cap or 0.0)
    drawn = [
        *_delay_spans(parts, scale),
        *_delay_marks(parts, cap, scale, width),
        *_caption(lines, _TOP + _BAR + 18),
    ]
    return document(
        drawn,
        width=width,
        height=_TOP + _BAR + 8 + _LINE * len(lines),
        words=words,
        class_="tx-delay",
        standalone=standalone,
        image=True,
    )


def _caption(lines: Sequence[str], y: float) -> Iterator[str]:
    for place, words in enumerate(lines):
        yield label(0, y + place * _LINE, words, class_="tx-note")


def _asked(parts: DelayParts) -> float | None:
    """Returns what the callee asked for, within its own cap."""
    if parts.hint is None:
        return None
    return max(0.0, parts.hint if parts.hint_cap is None else min(parts.hint, parts.hint_cap))


def _delay_spans(parts: DelayParts, scale: float) -> Iterator[str]:
    yield rect(0, _TOP, max(parts.delay * scale, 1), _BAR, class_="tx-track", rx=2)
    if parts.curve is None or parts.jittered is None:
        yield rect(0, _TOP, max(parts.delay * scale, 1), _BAR, class_="tx-hinted", rx=2)
        return
    low, high = sorted((parts.curve, parts.jittered))
    yield rect(0, _TOP, low * scale, _BAR, class_="tx-curve", rx=2)
    if high > low:
        yield rect(low * scale, _TOP, (high - low) * scale, _BAR, class_="tx-jitter")
    if parts.delay > high:
        yield rect(high * scale, _TOP, (parts.delay - high) * scale, _BAR, class_="tx-hinted", rx=2)


def _delay_marks(parts: DelayParts, cap: float | None, scale: float, width: float) -> Iterator[str]:
    """Draws the ends: of the delay below the bar, of the request and of the cap above it."""
    x = parts.delay * scale
    yield element("path", d=f"M{number(x)} {number(_TOP + _BAR)} l-4 6 h8 z", class_="tx-trend-last")
    if (asked := _asked(parts)) is not None:
        yield line(asked * scale, _TOP - 4, asked * scale, _TOP + _BAR + 2, class_="tx-hint")
        yield _above(asked * scale, f"asked {format_duration(asked)}", width)
    elif cap is None and parts.cap is not None:
        yield label(
            width,
            _TOP - 8,
            f"cap {format_duration(parts.cap)} \N{RIGHTWARDS ARROW}",
            class_="tx-note",
            anchor="end",
        )
    if cap is not None:
        yield line(cap * scale, _TOP - 4, cap * scale, _TOP + _BAR + 2, class_="tx-cap")
        if parts.hint is None:
            yield _above(cap * scale, f"cap {format_duration(cap)}", width)


def _above(x: float, words: str, width: float) -> str:
    anchor = "start" if x < width / 4 else "end" if x > width * 0.75 else "middle"
    return label(x, _TOP - 8, words, class_="tx-note", anchor=anchor)


def delay_words(parts: DelayParts) -> str:
    """Describes a delay in one line, such as `4s by the curve, jitter -1s, asked for 10s: waits 10s`."""
    words = []
    if parts.curve is not None:
        words.append(f"{format_duration(parts.curve)} by the {parts.backoff or 'curve'} curve")
        changed = (parts.jittered if parts.jittered is not None else parts.curve) - parts.curve
        if abs(changed) >= 0.0005:
            words.append(f"jitter {'+' if changed > 0 else '-'}{format_duration(round(abs(changed), 3))}")
    if parts.hint is not None:
        words.append(
            f"{'the handler' if parts.source == 'handler' else 'the callee'} asked for {format_duration(parts.hint)}"
        )
    if parts.hint_cap is not None and parts.hint is not None and parts.hint > parts.hint_cap:
        words.append(f"of which {format_duration(parts.hint_cap)} are allowed")
    total = f"waits {format_duration(round(parts.delay, 3))}"
    return f"{', '.join(words)}: {total}" if words else f"{total} ({parts.source.replace('_', ' ')})"


def draw_budget_bar(
    spent: float,
    reserved: float,
    limit: float,
    *,
    unit: str = "USD",
    width: float = 360,
    standalone: bool = False,
) -> str:
    """Draws what of a budget is spent, reserved and left. What goes beyond the limit is marked."""
    words = budget_words(spent, reserved, limit, unit)
    lines = wrapped(words, width, 11)
    most = max(limit, spent + reserved, 1e-9)
    scale = width / most
    drawn = [
        rect(0, 4, width, _BAR, class_="tx-track", rx=3),
        rect(0, 4, min(spent, limit) * scale, _BAR, class_="tx-spent", rx=3),
        rect(spent * scale, 4, reserved * scale, _BAR, class_="tx-reserved") if reserved > 0 else "",
        rect(limit * scale, 4, (spent - limit) * scale, _BAR, class_="tx-over") if spent > limit else "",
        line(limit * scale, 0, limit * scale, _BAR + 8, class_="tx-cap") if most > limit else "",
        *_caption(lines, _BAR + 20),
    ]
    return document(
        drawn,
        width=width,
        height=_BAR + 10 + _LINE * len(lines),
        words=words,
        class_="tx-budget-bar",
        standalone=standalone,
        image=True,
    )


def budget_words(spent: float, reserved: float, limit: float, unit: str) -> str:
    left = max(limit - spent - reserved, 0.0)
    words = f"{_amount(spent, unit)} of {_amount(limit, unit)} spent"
    words += f", {_amount(reserved, unit)} reserved" if reserved > 0 else ""
    over = spent - limit
    return f"{words}, {_amount(over, unit)} too much" if over > 0 else f"{words}, {_amount(left, unit)} left"


def _amount(value: float, unit: str) -> str:
    if unit == "USD":
        return f"${value:,.2f}" if value >= 0.01 or value == 0 else f"${value:.6f}".rstrip("0")
    return f"{value:,.0f} {unit}"
