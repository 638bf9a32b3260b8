"""Makes the environment of each peer on first use, from a file with hashes, and again when that file changes."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

HOME = Path(__file__).parent.parent / ".peers"
STAMP = ".installed"
NEWEST = (3, 14)
_ASK = "import sys; print(*sys.version_info[:2])"
_SECONDS = 600.0

Version = tuple[int, int]
Say = Callable[[str], None]


class CannotBeMade(Exception):
    """The environment of a peer cannot be made, so the peer is left out."""


def python_of(name: str, requirements: Path, least: Version, say: Say, home: Path = HOME) -> Path:
    """Returns the Python of the peer's environment, which is made first if it does not exist or is out of date."""
    folder = home / name
    base = find_python(least)
    if base is None:
        raise CannotBeMade(
            f"{folder}: it needs Python {_words(least)} or newer, and there is none on PATH"
            " or among pyenv's versions"
        )
    stamp = stamp_of(requirements.read_text(), base)
    if not is_up_to_date(folder, stamp):
        say(f"making the environment of {name} ...")
        _make(folder, base, requirements)
        (folder / STAMP).write_text(stamp)
    return folder / "bin" / "python"


def stamp_of(requirements: str, base: str) -> str:
    """Returns a stamp that changes with the requirements and with the Python of the environment."""
    return hashlib.sha256(f"{base}\n{requirements}".encode()).hexdigest()


def is_up_to_date(folder: Path, stamp: str) -> bool:
    kept = folder / STAMP
    return (folder / "bin" / "python").exists() and kept.exists() and kept.read_text() == stamp


def find_python(least: Version) -> str | None:
    """Returns this Python if it is new enough, else the newest one that runs."""
    if sys.version_info[:2] >= least:
        return sys.executable
    return first_that_answers(candidates(least), least)


def candidates(least: Version) -> Iterator[str]:
    for minor in range(NEWEST[1], least[1] - 1, -1):
        name = f"python3.{minor}"
        if found := shutil.which(name):
            yield found
        versions = (Path.home() / ".pyenv" / "versions").glob(f"3.{minor}.*/bin/{name}")
        yield from (str(path) for path in sorted(versions, reverse=True))


def first_that_answers(pythons: Iterable[str], least: Version) -> str | None:
    """Returns the first Python that runs. A program on PATH may not run, such as a shim of pyenv."""
    for python in pythons:
        try:
            asked = subprocess.run(
                [python, "-c", _ASK], check=False, capture_output=True, text=True, timeout=20
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if asked.returncode == 0 and tuple(map(int, asked.stdout.split())) >= least:
            return python
    return None


def _make(folder: Path, base: str, requirements: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    _run(folder, base, "-m", "venv", str(folder))
    pip = (str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    _run(folder, *pip, "--retries", "1", "--require-hashes", "-r", str(requirements))


def _run(folder: Path, *command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.CalledProcessError as error:
        raise CannotBeMade(f"{folder}: {cause_in(error.stdout + error.stderr)}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotBeMade(f"{folder}: {error}") from error


def cause_in(words: str) -> str:
    """Returns the line with the cause: pip's first error, else the last line."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines[-1:] or ["it said nothing"])[0]


def _words(version: Version) -> str:
    return ".".join(map(str, version))
