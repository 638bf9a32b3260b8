"""Reads JSON that people have written, exactly as the standard defines it."""

from __future__ import annotations

import json
import math
from typing import Any

from tenax.errors import UsageError
from tenax.model.source.findings import shorten


def json_or_text(value: str) -> Any:
    try:
        return _loads(value)
    except (ValueError, RecursionError):
        return value


def parse_json(text: str, what: str) -> Any:
    """Parses JSON. `what` names its source in messages, such as `--outcome` or a file."""
    try:
        return _loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{what}: not valid JSON: {error}") from None
    except RecursionError:
        raise UsageError(f"{what}: the JSON is nested too deeply") from None
    except ValueError as error:
        raise UsageError(f"{what}: not valid JSON: {error}") from None


def _loads(text: str) -> Any:
    """Parses JSON as the standard defines it, without NaN and infinity."""
    return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{shorten(digits)} is too large a number")
    return number
