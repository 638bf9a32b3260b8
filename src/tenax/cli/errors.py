"""Runs a command, and turns every error into one message on stderr and an exit code, never a traceback."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from cyclopts import CycloptsError, MissingArgumentError, UnknownCommandError, UnusedCliTokensError

from tenax.cli.output import say
from tenax.errors import InvalidDefinition, TenaxError

FAILED = 1
USAGE = 2
UNREACHABLE = 3
BUG = 70
INTERRUPTED = 130
PIPE_CLOSED = 141

TAKE_FILES = frozenset(
    {"run", "submit", "validate", "delays", "graph", "timeline", "decide", "store", "import"}
)
STDIN = "-"
STDIN_FILE = "/dev/stdin"


def run_command(arguments: Sequence[str]) -> int:
    """Runs one command line and returns its exit code. A command returns its exit code or None for 0, or raises an error."""
    _make_streams_safe()
    try:
        code = _called(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 -- the outermost boundary: every error becomes a message
        return _report(error, arguments)
    return code


def _called(arguments: Sequence[str]) -> int:
    from tenax.cli.app import app

    result = app(
        _with_stdin_named(_help_as_flag(arguments)),
        exit_on_error=False,
        print_error=False,
        result_action="return_value",
    )
    return result if isinstance(result, int) else 0


def _help_as_flag(arguments: Sequence[str]) -> Sequence[str]:
    """Turns `tenax help run` into `tenax run --help`."""
    return [*arguments[1:], "--help"] if arguments and arguments[0] == "help" else arguments


def _with_stdin_named(arguments: Sequence[str]) -> list[str]:
    """Replaces `-` by the path of stdin. The library would take a lone `-` for an option."""
    if not arguments or arguments[0] not in TAKE_FILES:
        return list(arguments)
    return [STDIN_FILE if argument == STDIN else argument for argument in arguments]


def _report(error: Exception, arguments: Sequence[str]) -> int:
    if os.environ.get("TENAX_DEBUG", "") not in ("", "0"):
        traceback.print_exception(error)
    message, remedy, code = _in_words(error, arguments)
    with contextlib.suppress(OSError):  # stderr may be closed, or its disk full
        say("\n".join([f"tenax: {message}", *([f"  {remedy}"] if remedy else ())]), stream=sys.stderr)
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()
    return code


def _in_words(error: Exception, arguments: Sequence[str]) -> tuple[str, str | None, int]:
    match error:
        case InvalidDefinition(findings=findings) if len(findings) > 1:
            lines = "\n".join(str(finding) for finding in findings)
            return f"the definition has {len(findings)} errors:\n{lines}", None, error.exit_code
        case TenaxError():
            # Exit code 1 is reserved for an execution that failed.
            code = UNREACHABLE if error.exit_code == FAILED else error.exit_code
            return error.message, error.remedy, code
        case UnknownCommandError() if not error.command_chain:
            return _unknown_command(error), "see: tenax --help", USAGE
        case MissingArgumentError() if error.argument is not None and error.argument.name == "ID":
            return "which execution?", "`tenax list` shows the executions there are", USAGE
        case UnusedCliTokensError(unused_tokens=[first, *_]):
            return f"one argument too many: {first}", _see_help(error, arguments), USAGE
        case CycloptsError():
            return " ".join(str(error).split()), _see_help(error, arguments), USAGE
        case UnicodeEncodeError():
            return "an argument, or the name of a file, is not UTF-8 text", None, USAGE
        case OSError(errno=errno.ENOSPC | errno.EDQUOT):
            return _disk_full(error), "free some space, and try again", UNREACHABLE
        case OSError():
            where = f"{os.fsdecode(error.filename)}: " if error.filename else ""
            return f"{where}{error.strerror or error}", None, UNREACHABLE
        case _:
            words = " ".join(f"{type(error).__name__}: {error}".split())
            return f"a bug in Tenax: {words}", "TENAX_DEBUG=1 shows the traceback; please report it", BUG


def _unknown_command(error: UnknownCommandError) -> str:
    """Returns the message for an unknown command. The library would import every command to find the nearest name."""
    from tenax.cli.app import COMMAND_NAMES
    from tenax.model.source.findings import shorten, suggest

    name = error.unused_tokens[0] if error.unused_tokens else ""
    return f"unknown command `{shorten(name)}`{suggest(name, COMMAND_NAMES)}"


def _disk_full(error: OSError) -> str:
    where = f" ({os.fsdecode(error.filename)})" if error.filename else ""
    return f"the disk is full{where}"


def _see_help(error: CycloptsError, arguments: Sequence[str]) -> str:
    chain = error.command_chain or ()
    command = " ".join(chain) if all(part in arguments for part in chain) else ""
    return f"see: tenax {command} --help" if command else "see: tenax --help"


def _make_streams_safe() -> None:
    """Lets streams escape text that does not fit the terminal's encoding, and replaces closed streams."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 -- it stays open as long as the process lives
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Sends further output to nowhere after its reader has left. Otherwise the interpreter would fail to flush it at its end."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
