"""Tracebacks as Python writes them, where the same lines of code fail again and again: each frame is written once."""

from __future__ import annotations

import traceback
from contextlib import suppress
from itertools import pairwise
from types import CodeType, TracebackType

_KEPT = 2_000
_frames: dict[tuple[int, int], tuple[CodeType, str]] = {}
"""By code object and instruction. The code object is kept with its text, so that no other one gets its id."""

_CAUSED = "\nThe above exception was the direct cause of the following exception:\n\n"
_MET = "\nDuring handling of the above exception, another exception occurred:\n\n"
_LONGEST_CHAIN = 20
_WRITTEN_OUT = (SyntaxError, NameError, AttributeError, ImportError)
"""Errors that Python adds places or suggestions to."""


def format_error(error: BaseException, trace: TracebackType | None, *, frames: int) -> str:
    """What `traceback.format_exception` gives for the last frames of an error and of those behind it."""
    chain = _chain(error)
    if chain is None:
        return "".join(traceback.format_exception(type(error), error, trace, limit=-frames))
    parts: list[str] = []
    for link, current in reversed(chain):
        stack = _stack(trace if current is error else current.__traceback__, frames)
        header = "Traceback (most recent call last):\n" if stack else ""
        parts += (link, header, stack, _last_line(current))
    return "".join(parts)


def _chain(error: BaseException) -> list[tuple[str, BaseException]] | None:
    """The errors, outermost first, each with what links it to the one behind it. None where it is no simple chain."""
    chain: list[tuple[str, BaseException]] = []
    current: BaseException | None = error
    while current is not None:
        cause, context = current.__cause__, current.__context__
        forked = cause is not None and context is not None and cause is not context
        if forked or isinstance(current, BaseExceptionGroup) or len(chain) == _LONGEST_CHAIN:
            return None
        if cause is not None:
            chain.append((_CAUSED, current))
            current = cause
        elif context is not None and not current.__suppress_context__:
            chain.append((_MET, current))
            current = context
        else:
            chain.append(("", current))
            current = None
    return chain


def _stack(trace: TracebackType | None, most: int) -> str:
    steps: list[TracebackType] = []
    current = trace
    while current is not None:
        steps.append(current)
        current = current.tb_next
    last = steps[-most:]
    if any(one.tb_frame.f_code is other.tb_frame.f_code for one, other in pairwise(last)):
        return "".join(traceback.format_tb(trace, limit=-most))  # a recursion, which Python shortens
    return "".join([_frame(step) for step in last])


def _frame(step: TracebackType) -> str:
    code = step.tb_frame.f_code
    key = (id(code), step.tb_lasti)
    known = _frames.get(key)
    if known is None:
        if len(_frames) >= _KEPT:
            _frames.clear()
        known = _frames[key] = (code, "".join(traceback.format_tb(step, limit=1)))
    return known[1]


def _last_line(error: BaseException) -> str:
    module, name = type(error).__module__, type(error).__qualname__
    odd = isinstance(error, _WRITTEN_OUT) or not isinstance(module, str)
    if not odd and getattr(error, "__notes__", None) is None:
        with suppress(Exception):  # a user's __str__ may raise anything; Python has words for that
            text = str(error)
            shown = name if module in ("builtins", "__main__") else f"{module}.{name}"
            return f"{shown}: {text}\n" if text else f"{shown}\n"
    return "".join(traceback.format_exception_only(error))
