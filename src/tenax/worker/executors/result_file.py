"""Reads the outcome of a finished process or agent from its exit code and the file `$TENAX_RESULT_FILE`.

The file is JSON. An object with `status` (`completed`, `failed` or `budget_exceeded`) or with `success` says how the
attempt went, with `output`, `error` (or `message`) and `usage: {cost_usd, tokens}`. With exit code 0, any other JSON is
the result. With any other exit code, a file that does not say `completed` or `success: true` is evidence of a failure.
"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import orjson
from msgspec.structs import replace

from tenax.model.attempt.outcome import Facts, Outcome, ResultFile
from tenax.model.attempt.usage import read_usage
from tenax.worker.handlers.error_outcomes import classified_failure
from tenax.worker.handlers.json_values import Unstorable, decode_output, parse_json
from tenax.worker.processes.processes import STDERR_TAIL, ProcessEnd

_WHOLE_LINE = STDERR_TAIL // 4
"""Characters of up to four bytes each. The limit on the kept bytes cannot have cut a shorter line."""
_FAILING = ("failed", "budget_exceeded")


class _Unreadable(Exception):
    pass


def outcome_of_process(ended: ProcessEnd, path: Path, *, limit: int) -> Outcome:
    """Returns the outcome of a process that ended by itself. `limit` is the largest size of its result file in bytes."""
    tail = decode_output(ended.stderr_tail) or None
    try:
        found, content = _read(path, limit)
    except _Unreadable as error:
        if ended.returncode == 0:
            message = f"exit code 0, but the result file cannot be read: {error}"
            return classified_failure(
                "invalid", "invalid_result", message, result_file="unreadable", stderr_tail=tail
            )
        return Outcome("failed", facts=_exit_facts(ended, "unreadable", tail))
    if not found:
        if ended.returncode == 0:
            return _printed(ended, tail)
        return Outcome("failed", facts=_exit_facts(ended, "missing", tail))
    if (failing := _failing_status(content)) is not None:
        return _stated_failure(ended, content, failing, tail)
    if ended.returncode == 0 or _says_success(content):
        return _success(content)
    facts = _exit_facts(ended, "other", tail)
    return Outcome("failed", facts=replace(facts, data=content))


def outcome_of_agent(ended: ProcessEnd, path: Path, *, limit: int) -> Outcome:
    """Returns the outcome of an agent that ended by itself. It states its status in the result file, and no other
    status than the three is known."""
    tail = decode_output(ended.stderr_tail) or None
    try:
        found, content = _read(path, limit)
    except _Unreadable as error:
        return _not_stated(ended, "unreadable", f"the result file cannot be read: {error}", tail)
    if not found:
        if ended.returncode != 0:
            return Outcome("failed", facts=_exit_facts(ended, "missing", tail))
        words = "exit code 0, but there is no result file (`$TENAX_RESULT_FILE`)"
        return Outcome("failed", facts=replace(_exit_facts(ended, "missing", tail), message=words))
    status = content.get("status") if isinstance(content, dict) else None
    if status == "completed":
        return Outcome("succeeded", result=content.get("output"), usage=read_usage(content.get("usage")))
    if status in _FAILING:
        return _stated_failure(ended, content, status, tail)
    known = "`status` in the result file must be completed, failed or budget_exceeded"
    outcome = _not_stated(ended, "other", f"{known}, found {orjson.dumps(status).decode()[:100]}", tail)
    usage = read_usage(content.get("usage")) if isinstance(content, dict) else None
    return replace(outcome, usage=usage)


def _not_stated(ended: ProcessEnd, file: ResultFile, words: str, tail: str | None) -> Outcome:
    """Returns the failure of an agent whose result file says nothing that can be used."""
    if ended.returncode != 0:
        return Outcome("failed", facts=_exit_facts(ended, file, tail))
    message = f"exit code 0, but {words}"
    return classified_failure("invalid", "invalid_result", message, result_file=file, stderr_tail=tail)


def _read(path: Path, limit: int) -> tuple[bool, Any]:
    """Returns whether there is a file, and its content. An empty file counts as unreadable."""
    try:
        if path.stat().st_size > limit:
            raise _Unreadable(f"it is larger than {limit} bytes (`max_result`)")
        if not path.is_file():
            raise _Unreadable("it is not a file")
        return True, parse_json(path.read_bytes())
    except FileNotFoundError:
        return False, None
    except OSError as error:
        raise _Unreadable(str(error)) from error
    except orjson.JSONDecodeError as error:
        raise _Unreadable(f"it is no JSON: {error}") from error
    except Unstorable as error:
        raise _Unreadable(str(error)) from error


def _failing_status(content: Any) -> ResultFile | None:
    """Returns the failing status that the file states, or None. A failure wins if the file states both."""
    if not isinstance(content, dict):
        return None
    if content.get("status") in _FAILING:
        stated: ResultFile = content["status"]
        return stated
    return "failed" if content.get("success") is False else None


def _says_success(content: Any) -> bool:
    """Returns whether the file itself says that the attempt succeeded."""
    return isinstance(content, dict) and (
        content.get("status") == "completed" or content.get("success") is True
    )


def _success(content: Any) -> Outcome:
    """Returns a success whose result is the file's `output` if the file states success and has one, else the whole file."""
    if not _says_success(content):
        return Outcome("succeeded", result=content)
    return Outcome("succeeded", result=content.get("output", content), usage=read_usage(content.get("usage")))


def _stated_failure(
    ended: ProcessEnd, content: dict[str, Any], status: ResultFile, tail: str | None
) -> Outcome:
    stated = content.get("error") or content.get("message") or f"the result file says {status}"
    message = stated if isinstance(stated, str) else orjson.dumps(stated).decode()
    facts = Facts(
        message=message,
        exit_code=ended.returncode if ended.returncode >= 0 else None,
        signal=-ended.returncode if ended.returncode < 0 else None,
        result_file=status,
        fatal=status == "failed",
        stderr_tail=tail,
        data=content.get("output"),
    )
    return Outcome("failed", facts=facts, usage=read_usage(content.get("usage")))


def _printed(ended: ProcessEnd, tail: str | None) -> Outcome:
    """Returns a success whose result is what the process printed to stdout."""
    try:
        return Outcome("succeeded", result=_stdout(ended))
    except Unstorable as error:
        message = f"stdout is JSON that cannot be stored: {error}"
        return classified_failure("invalid", "invalid_result", message, stderr_tail=tail)


def _stdout(ended: ProcessEnd) -> Any:
    if not ended.stdout:
        return None
    if ended.stdout_dropped:
        kept = decode_output(ended.stdout)
        return f"{kept}\n[{ended.stdout_dropped} bytes more were not kept]"
    try:
        return parse_json(ended.stdout)
    except orjson.JSONDecodeError:
        text = decode_output(ended.stdout).removesuffix("\n")
        count = ended.stdout.count(b"\0")
        return f"{text}\n[{count} NUL characters were replaced by U+FFFD]" if count else text


def _exit_facts(ended: ProcessEnd, result_file: ResultFile, tail: str | None) -> Facts:
    facts = Facts(result_file=result_file, stderr_tail=tail, oom_killed=ended.oom_killed)
    if ended.returncode >= 0:
        return replace(
            facts, exit_code=ended.returncode, message=_with_tail(f"exit code {ended.returncode}", tail)
        )
    number = -ended.returncode
    known = number in [s.value for s in signal.Signals]
    name = signal.Signals(number).name if known else f"signal {number}"
    cause = " (out of memory)" if ended.oom_killed else ""
    return replace(facts, signal=number, message=f"killed by {name}{cause}")


def _with_tail(message: str, tail: str | None) -> str:
    """Adds the last line of stderr, which usually says why the process failed.

    A line that may have lost its beginning is left out: it could begin with half of a secret, which is not recognised.
    """
    last = next((line for line in reversed((tail or "").splitlines()) if line.strip()), "")
    return f"{message}: {last.strip()}" if 0 < len(last) < _WHOLE_LINE else message
