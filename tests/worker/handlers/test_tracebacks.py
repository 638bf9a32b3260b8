"""Tests that the worker's tracebacks equal Python's own, although the text of each frame is cached."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import traceback

import pytest

from tenax.worker.handlers import tracebacks
from tenax.worker.handlers.error_outcomes import outcome_of
from tenax.worker.handlers.tracebacks import format_error

FRAMES = 5


def plain():
    raise KeyError("x")


def caused():
    try:
        plain()
    except KeyError as error:
        raise RuntimeError("it\nhas two lines") from error


def met():
    try:
        caused()
    except RuntimeError:
        return 1 / 0


def silenced():
    try:
        plain()
    except KeyError:
        raise OSError from None


def forked():
    try:
        caused()
    except RuntimeError as error:
        raise LookupError("fork") from (error.__cause__.with_traceback(None) if error.__cause__ else None)


def circular():
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    raise first


def group():
    raise ExceptionGroup("several", [ValueError("one"), OSError("two")])


def behind_a_group():
    try:
        group()
    except ExceptionGroup:
        plain()


def recursive(depth=40):
    return recursive(depth - 1) if depth else plain()


def recursive_in_the_middle():
    return recursive(3)


def deep(depth=12):
    """Frames that differ: no recursion that would be shortened."""
    steps = [lambda: plain()]  # noqa: PLW0108 - each has a code object of its own
    for _ in range(depth):
        space = {"step": steps[-1]}
        exec(compile("def call():\n    return step()", f"<made {len(steps)}>", "exec"), space)
        steps.append(space["call"])
    steps[-1]()


def noted():
    error = ValueError("x")
    error.add_note("a note\nof two lines")
    raise error


def misspelt():
    return "".jion([])


def unknown_name():
    return plian()  # noqa: F821


def bad_import():
    from traceback import no_such_name  # noqa: F401


def bad_syntax():
    compile("a b c", "<text>", "exec")


class Mute(Exception):
    def __str__(self):
        raise OSError("no text")


def mute():
    raise Mute


class Homeless(Exception):
    __module__ = None


def homeless():
    raise Homeless("x")


class Nested(Exception):
    class Inner(Exception):
        pass


def inner():
    raise Nested.Inner


CASES = (
    plain, caused, met, silenced, forked, circular, group, behind_a_group, recursive, recursive_in_the_middle,
    deep, noted, misspelt, unknown_name, bad_import, bad_syntax, mute, homeless, inner,
)  # fmt: skip


def raised_by(function) -> BaseException:
    try:
        function()
    except BaseException as error:  # noqa: BLE001 - whatever it is
        return error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("function", CASES)
def test_it_is_what_python_writes_the_first_time_and_from_memory(function):
    for error in (raised_by(function), raised_by(function)):
        trace = error.__traceback__
        wanted = "".join(traceback.format_exception(type(error), error, trace, limit=-FRAMES))
        assert format_error(error, trace, frames=FRAMES) == wanted


@pytest.mark.parametrize("function", [plain, caused, bad_syntax])
def test_an_error_whose_own_frames_are_left_out(function):
    error = raised_by(function)
    wanted = "".join(traceback.format_exception(type(error), error, None, limit=-FRAMES))
    assert format_error(error, None, frames=FRAMES) == wanted


def test_code_that_was_loaded_again_shows_its_new_lines(tmp_path):
    path = tmp_path / "changing.py"
    for words in ("the first text", "a second one"):
        path.write_text(f"def fail():\n    raise OSError('{words}')\n")
        spec = importlib.util.spec_from_file_location("changing", path)
        module = importlib.util.module_from_spec(spec)
        exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
        error = raised_by(module.fail)
        assert f"raise OSError('{words}')" in format_error(error, error.__traceback__, frames=FRAMES)


def test_what_is_remembered_has_an_end(monkeypatch):
    monkeypatch.setattr(tracebacks, "_MAX_FRAMES", 3)
    for _ in range(3):
        error = raised_by(deep)
        assert format_error(error, error.__traceback__, frames=20).count("File") == 16
        assert len(tracebacks._frames) <= 3


def test_a_type_without_a_module_and_without_a_hash_ends_its_attempt():
    class Meta(type):
        __hash__ = None

        def __eq__(cls, other):
            raise OSError("do not compare")

    class Unhashable(Exception, metaclass=Meta):
        __module__ = None

    facts = outcome_of(raised_by(lambda: (_ for _ in ()).throw(Unhashable("x")))).facts
    assert facts.exception == f"None.{Unhashable.__qualname__}"
    assert facts.message == "Unhashable: x"


def test_a_lost_connection_does_not_load_an_http_client():
    code = (
        "import sys\n"
        "from tenax.worker.handlers.error_outcomes import outcome_of\n"
        "kinds = [outcome_of(kind('x')).facts.connection for kind in (ConnectionError, ConnectionResetError)]\n"
        "print(kinds, 'httpx2' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "['other', 'reset'] False"
