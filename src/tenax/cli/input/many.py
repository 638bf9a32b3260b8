"""Reads a file of many submissions, one JSON object on each line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import structs

from tenax.cli.input.inputs import read_bytes
from tenax.errors import UsageError
from tenax.model.json_text import encode
from tenax.model.source.findings import name_kind, shorten, suggest
from tenax.model.source.json_source import parse_json
from tenax.model.wire import Submission
from tenax.model.wire_types import BATCH
from tenax.sdk.files import MAX_FILE_SIZE, decode_text

MAX_SHOWN = 20  # wrong lines that an error names
BATCH_BYTES = 4_000_000  # bytes of one request, unless a single submission is larger
_KEYS = {"workflow": str, "input": dict, "key": str}


@dataclass(frozen=True, slots=True)
class Line:
    """Holds a submission, and the number of its line."""

    number: int
    submission: Submission


def read_lines(file: str, default: Submission | None) -> list[Line]:
    """Reads all submissions of a file. `default` is what lines without a `workflow` submit.

    Raises UsageError with the numbers of the wrong lines. Empty lines are left out.
    """
    content = read_bytes(file)
    if len(content) >= MAX_FILE_SIZE:
        raise UsageError(
            f"{file}: larger than {MAX_FILE_SIZE:,} bytes",
            remedy="split it: keys let you send the parts one by one",
        )
    lines: list[Line] = []
    faults: list[tuple[int, str]] = []
    for number, text in enumerate(decode_text(content, file).split("\n"), 1):
        if text.strip():
            try:
                lines.append(Line(number, _submission(parse_json(text, f"line {number}"), default)))
            except UsageError as error:
                faults.append((number, error.message.removeprefix(f"line {number}: ")))
    faults += _repeated_keys(lines)
    refuse_lines(file, faults)
    if not lines:
        raise UsageError(f"{file}: there is no submission in it")
    return lines


def refuse_lines(file: str, faults: Sequence[tuple[int, str]]) -> None:
    """Raises UsageError if there are wrong lines. It names the first ones."""
    if not faults:
        return
    shown = [
        f"line {number}: {'; '.join(message.splitlines())}" for number, message in sorted(faults)[:MAX_SHOWN]
    ]
    if len(faults) > MAX_SHOWN:
        shown.append(f"and {len(faults) - MAX_SHOWN:,} more")
    what = "1 line is" if len(faults) == 1 else f"{len(faults):,} lines are"
    raise UsageError(f"{file}: {what} wrong, and nothing was submitted\n  " + "\n  ".join(shown))


def batches(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Yields the lines in batches that fit one request."""
    batch: list[Line] = []
    size = 0
    for line in lines:
        bytes_ = len(encode(line.submission))
        if batch and (len(batch) == BATCH or size + bytes_ > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += bytes_
    if batch:
        yield batch


def _submission(value: Any, default: Submission | None) -> Submission:
    if not isinstance(value, dict):
        raise UsageError(f"expected an object with `workflow`, `input` and `key`, found {name_kind(value)}")
    for name, given in value.items():
        if name not in _KEYS:
            raise UsageError(f"there is no key `{shorten(name)}`{suggest(name, _KEYS)}")
        if given is not None and not isinstance(given, _KEYS[name]):
            wanted = "an object" if name == "input" else "text"
            raise UsageError(f"`{name}` is {wanted}, found {name_kind(given)}")
    return _made(value, default)


def _made(value: Mapping[str, Any], default: Submission | None) -> Submission:
    given = {name: one for name, one in value.items() if one is not None}
    try:
        made = msgspec.convert(given, Submission)
    except msgspec.ValidationError as error:
        raise UsageError(str(error)) from None
    if made.workflow is not None:
        return made
    if default is None:
        raise UsageError(
            "which workflow? name a stored one as `workflow`, or give the command a file or a name for all lines"
        )
    return structs.replace(default, input=made.input, key=made.key)


def _repeated_keys(lines: Sequence[Line]) -> list[tuple[int, str]]:
    first: dict[str, int] = {}
    faults: list[tuple[int, str]] = []
    for line in lines:
        key = line.submission.key
        if key is None:
            continue
        if key in first:
            faults.append((line.number, f"it has the key of line {first[key]}: {shorten(repr(key))}"))
        first.setdefault(key, line.number)
    return faults
