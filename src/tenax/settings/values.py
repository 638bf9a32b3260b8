"""Reads the values of settings as people write them: in a file, in a variable, or after a flag.

Each reader raises a ValueError that says what it expected.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator

from tenax.model.durations import parse_duration
from tenax.model.names import name_fault, worker_name_fault

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]i?)?b?", re.IGNORECASE)
_BYTES_IN = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
_LARGEST_SIZE = 2**63 - 1
_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*(%)?")
_ADDRESS = re.compile(r"https?://[^/?#\s][^?#\s]*")


def text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("expected a text")
    return value.strip()


def worker_name(value: Any) -> str:
    name = text(value)
    if (fault := worker_name_fault(name)) is not None:
        raise ValueError(f"{name!r} {fault}")
    return name


def seconds(value: Any) -> float:
    """Reads a duration as workflow files write it."""
    try:
        return parse_duration(value)
    except ValueError as error:
        raise ValueError(f"expected a duration: {error}") from None


def positive_seconds(value: Any) -> float:
    duration = seconds(value)
    if duration <= 0:
        raise ValueError("expected a duration above zero")
    return duration


def size_in_bytes(value: Any) -> int:
    found = _SIZE.fullmatch(str(value).strip()) if not isinstance(value, bool) else None
    size = float(found[1]) * _BYTES_IN[(found[2] or "").lower()] if found else 0.0
    if not 1 <= size <= _LARGEST_SIZE:
        raise ValueError("expected a size above zero, such as 16MB, 512KiB or a number of bytes")
    return int(size)


def size_within(least: str | None = None, most: str | None = None) -> BeforeValidator:
    """Makes a reader of sizes within bounds."""

    def read(value: Any) -> int:
        size = size_in_bytes(value)
        if least is not None and size < size_in_bytes(least):
            raise ValueError(f"expected a size of at least {least}")
        if most is not None and size > size_in_bytes(most):
            raise ValueError(f"expected a size of at most {most}")
        return size

    return BeforeValidator(read)


def whole_number(least: int, most: int | None = None) -> BeforeValidator:
    """Makes a reader of whole numbers within bounds."""
    bounds = f"of at least {least}" if most is None else f"from {least} to {most}"

    def read(value: Any) -> int:
        digits = str(value).strip()
        if (
            re.fullmatch(r"-?\d{1,18}", digits)
            and least <= int(digits)
            and (most is None or int(digits) <= most)
        ):
            return int(digits)
        raise ValueError(f"expected a whole number {bounds}")

    return BeforeValidator(read)


def share(value: Any) -> float:
    found = _SHARE.fullmatch(str(value).strip()) if not isinstance(value, bool) else None
    part = float(found[1]) / (100 if found[2] else 1) if found else 0.0
    if not 0 < part <= 1:
        raise ValueError("expected a share above 0 and up to 1, such as 0.3 or 30%")
    return part


def one_of(*choices: str) -> BeforeValidator:
    """Makes a reader of one of these words, in capitals or not."""

    def read(value: Any) -> str:
        if str(value).lower() not in choices:
            raise ValueError(f"expected one of {', '.join(choices)}")
        return str(value).lower()

    return BeforeValidator(read)


def names(value: Any) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple):
        raise ValueError("expected a list of names, or names with commas between them")
    if not parts:
        raise ValueError("expected at least one name")
    found = tuple(text(part) for part in parts)
    for name in found:
        if (fault := name_fault(name)) is not None:
            raise ValueError(f"{name!r} {fault}")
    return found


def some_of(*choices: str) -> BeforeValidator:
    """Makes a reader of some of these names, each once. An element of a list may have commas too, as repeated flags may."""

    def read(value: Any) -> tuple[str, ...]:
        parts = value if isinstance(value, list | tuple) else (value,)
        found = tuple(dict.fromkeys(name for part in parts for name in names(part)))
        if not found:
            raise ValueError(f"expected at least one of {', '.join(choices)}")
        for name in found:
            if name not in choices:
                close = difflib.get_close_matches(name, choices, n=1)
                meant = f"; did you mean {close[0]!r}?" if close else ""
                raise ValueError(f"{name!r} is none of {', '.join(choices)}{meant}")
        return found

    return BeforeValidator(read)


def labels(value: Any) -> Mapping[str, str]:
    if isinstance(value, str):
        value = _read_pairs(value.split(","))
    if not isinstance(value, Mapping) or not all(
        isinstance(text, str) and name for name, text in value.items()
    ):
        raise ValueError("expected a table of names and texts")
    return dict(value)


def _read_pairs(parts: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in parts:
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not name:
            missing = "no name before the `=`" if equals else "no `=`"
            raise ValueError(f"expected labels such as gpu=yes,zone=a: {part.strip()!r} has {missing}")
        if name in found and found[name] != value:
            raise ValueError(f"`{name}` is said twice, as {found[name]!r} and as {value!r}")
        found[name] = value
    return found


def retry_shape(value: Any) -> Mapping[str, Any] | bool | int:
    """Reads only the shape. `tenax.model.parse.retry_fields` reads the fields."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (json.JSONDecodeError, RecursionError) as error:
            raise ValueError('expected JSON, such as {"max_attempts": 5}, 3, true or false') from error
    if isinstance(value, Mapping):
        return dict(value)
    if not isinstance(value, bool | int):
        raise ValueError("expected a table of retry fields, a number of attempts, true or false")
    return value


def table(value: Any) -> Mapping[str, Any]:
    """Reads a table, which a variable gives as JSON."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (json.JSONDecodeError, RecursionError) as error:
            raise ValueError("expected a table, as JSON") from error
    if not isinstance(value, Mapping):
        raise ValueError("expected a table")
    return dict(value)


def command(value: Any) -> str | list[str]:
    """Reads a command: a text for the shell, or a list of words, which a variable gives as JSON."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (json.JSONDecodeError, RecursionError):
            return text(value)  # `[ -x agent ] && ./agent` is a command of the shell
    if isinstance(value, list | tuple):
        if not value or not all(isinstance(word, str) for word in value) or not value[0].strip():
            raise ValueError("expected a list of words that begins with a program")
        return list(value)
    return text(value)


def server_url(value: Any) -> str:
    url = text(value).rstrip("/")
    if not _ADDRESS.fullmatch(url):
        raise ValueError("expected an address such as http://127.0.0.1:8520")
    return url


def server_urls(value: Any) -> str:
    """Reads one address, or addresses of several servers on one database with commas between them."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not parts:
        raise ValueError(
            "expected an address such as http://127.0.0.1:8520, or several with commas between them"
        )
    for number, part in enumerate(parts if len(parts) > 1 else (), start=1):
        if not isinstance(part, str) or not _ADDRESS.fullmatch(part.strip().rstrip("/")):
            raise ValueError(f"number {number} ({part!r}) is not an address such as http://127.0.0.1:8520")
    return ",".join(server_url(part) for part in parts)


def database_url(value: Any) -> str:
    url = text(value)
    if not re.match(r"postgres(ql)?://", url):
        raise ValueError("expected an address such as postgresql://user@host:5432/database")
    return url


Text = Annotated[str, BeforeValidator(text)]
Duration = Annotated[float, BeforeValidator(seconds)]
PositiveDuration = Annotated[float, BeforeValidator(positive_seconds)]
Size = Annotated[int, BeforeValidator(size_in_bytes)]
Share = Annotated[float, BeforeValidator(share)]
Address = Annotated[str, BeforeValidator(server_url)]
Addresses = Annotated[str, BeforeValidator(server_urls)]
DatabaseAddress = Annotated[str, BeforeValidator(database_url)]
Names = Annotated[tuple[str, ...], BeforeValidator(names)]
WorkerName = Annotated[str, BeforeValidator(worker_name)]
Labels = Annotated[Mapping[str, str], BeforeValidator(labels)]
Table = Annotated[Mapping[str, Any], BeforeValidator(table)]
CommandShape = Annotated[str | list[str], BeforeValidator(command)]
RetryShape = Annotated[Mapping[str, Any] | bool | int, BeforeValidator(retry_shape)]
