"""Formats tracebacks as Python does, and caches the text of each frame: the same lines of code fail again and again."""

from __future__ import annotations

import traceback
from operator import is_
from types import CodeType, TracebackType

_MAX_FRAMES = 2_000
_frames: dict[tuple[int, int], tuple[CodeType, str]] = {}
"""Texts of frames by the id of the code object and the instruction. The code object is kept too, so that its id stays unique."""

_CAUSE_LINE = "\nThe above exception was the direct cause of the following exception:\n\n"
_CONTEXT_LINE = "\nDuring handling of the above exception, another exception occurred:\n\n"
_MAX_CHAIN = 20
_DECORATED = (SyntaxError, NameError, AttributeError, ImportError)
"""Errors to whose text Python adds a place or a suggestion."""


def format_error(error: BaseException, trace: TracebackType | None, *, frames: int) -> str:
    """Returns the text that `traceback.format_exception` gives for the last frames of an error and of its causes."""
    if error.__cause__ is None and error.__context__ is None and not isinstance(error, BaseExceptionGroup):
        return _alone(error, trace, frames)
    chain = _chain(error)
    if chain is None:
        return "".join(traceback.format_exception(type(error), error, trace, limit=-frames))
    parts: list[str] = []
    for link, current in reversed(chain):
        parts += (link, _alone(current, trace if current is error else current.__traceback__, frames))
    return "".join(parts)


def _alone(error: BaseException, trace: TracebackType | None, frames: int) -> str:
    """Formats an error without its causes."""
    if trace is None:
        return _last_line(error)
    return f"Traceback (most recent call last):\n{_stack(trace, frames)}{_last_line(error)}"


def _chain(error: BaseException) -> list[tuple[str, BaseException]] | None:
    """Returns the error and its causes, outermost first, each with the line that links it to the next.

    Returns None if the causes are no simple chain.
    """
    chain: list[tuple[str, BaseException]] = []
    current: BaseException | None = error
    while current is not None:
        cause, context = current.__cause__, current.__context__
        forked = cause is not None and context is not None and cause is not context
        if forked or isinstance(current, BaseExceptionGroup) or len(chain) == _MAX_CHAIN:
            return None
        if cause is not None:
            chain.append((_CAUSE_LINE, current))
            current = cause
        elif context is not None and not current.__suppress_context__:
            chain.append((_CONTEXT_LINE, current))
            current = context
        else:
            chain.append(("", current))
            current = None
    return chain


def _stack(trace: TracebackType, most: int) -> str:
    if trace.tb_next is None:
        return _frame(trace, trace.tb_frame.f_code)
    steps = [trace]
    while (following := steps[-1].tb_next) is not None:
        steps.append(following)
    last = steps[-most:]
    codes = [step.tb_frame.f_code for step in last]
    if any(map(is_, codes, codes[1:])):
        return "".join(traceback.format_tb(trace, limit=-most))  # Python shortens the lines of a recursion
    return "".join(map(_frame, last, codes))


def _frame(step: TracebackType, code: CodeType) -> str:
    key = (id(code), step.tb_lasti)
    known = _frames.get(key)
    if known is None:
        if len(_frames) >= _MAX_FRAMES:
            _frames.clear()
        known = _frames[key] = (code, "".join(traceback.format_tb(step, limit=1)))
    return known[1]


def _last_line(error: BaseException) -> str:
    module, name = type(error).__module__, type(error).__qualname__
    odd = isinstance(error, _DECORATED) or not isinstance(module, str)
    if odd or getattr(error, "__notes__", None) is not None:
        return "".join(traceback.format_exception_only(error))
    shown = name if module in ("builtins", "__main__") else f"{module}.{name}"
    try:
        text = str(error)
        return f"{shown}: {text}\n" if text else f"{shown}\n"
    except Exception:  # noqa: BLE001 - a user's __str__ may raise anything, and Python formats that too
        return "".join(traceback.format_exception_only(error))
