"""Finds the folder of the embedded PostgreSQL's files, and the account that it runs as.

    place/start.lock     held by the process that starts the server
    place/users.lock     held, shared, by every process that uses it
    place/watch.lock     held by the watcher (see `postmaster.watch_server`)
    place/18/            the data, named by PostgreSQL's major version
    place/socket/        the only way in, mode 0700
    place/log/           the server's log, of limited size
    place/binaries/      under root: copies of the programs

For an ordinary user the place is `home/postgres`, and all files are the user's own. PostgreSQL refuses to run as root.
Under root it runs as an unprivileged account, which must be able to reach the place. If it cannot (a home below a folder
of mode 0700), the place is below /var/lib/tenax/homes, and the file `home/postgres.place` names it. A folder that existed
before is never opened to others.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import stat
import subprocess
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenax.errors import Unreachable
from tenax.store.embedded.postmaster import PORT, data_folders

SYSTEM_HOME = Path("/var/lib/tenax")
POINTER = "postgres.place"

_ACCOUNTS = ("tenax", "postgres", "nobody")
_LONGEST_SOCKET_PATH = 107  # bytes


@dataclass(frozen=True, slots=True)
class Account:
    """The account that PostgreSQL runs as. `switch` tells whether that is another user than this process."""

    uid: int
    gid: int
    name: str
    switch: bool

    def for_process(self) -> dict[str, Any]:
        """Returns the arguments of `subprocess` that run a child under this account."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if self.switch else {}

    def give(self, what: Path | int) -> None:
        """Gives a path or a descriptor to this account. For a link, the link itself is changed and never its target."""
        if isinstance(what, int) and self.switch:
            os.fchown(what, self.uid, self.gid)
        elif self.switch:
            os.chown(what, self.uid, self.gid, follow_symlinks=False)


@dataclass(frozen=True, slots=True)
class ClusterPlace:
    folder: Path
    account: Account

    @property
    def data(self) -> Path | None:
        """The data directory, if there is one yet."""
        return next(reversed(data_folders(self.folder)), None)

    def own_folder(self, name: str) -> Path:
        """Makes a folder in the place that only PostgreSQL's account can enter."""
        folder = self.folder / name
        _make_private(folder, self.account)
        return folder

    def socket_folder(self) -> Path:
        """Returns the folder of the socket: in the place, or in a short and equally private one if that path is too
        long for a socket."""
        inside = self.folder / "socket"
        # PostgreSQL takes a list of folders, separated by commas.
        if _fits(inside) and not set(str(inside)) & set(",\"'"):
            return self.own_folder("socket")
        digest = hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:12]
        runtime = Path(f"/run/user/{os.getuid()}")
        parent = runtime if not self.account.switch and os.access(runtime, os.W_OK) else Path("/tmp")  # noqa: S108 made with 0700, owner checked
        folder = parent / f"tenax-{self.account.uid}-{digest}"
        _make_private(folder, self.account)
        return folder


def existing_place(home: Path) -> Path:
    """Returns the place that this home has or would have, without making anything. The path is the real one, because
    the kernel names a process's working folder by it."""
    try:
        place = Path((home / POINTER).read_text("utf-8").strip())
    except (FileNotFoundError, NotADirectoryError):
        place = home / "postgres"
    return Path(os.path.realpath(place))


def find_place(home: Path, system_home: Path = SYSTEM_HOME) -> ClusterPlace:
    """Returns the place of this home, and makes it if it is missing."""
    if os.geteuid() != 0:
        return _place_of_user(home)
    _require_of_root(home / POINTER, home / "postgres")
    place = existing_place(home)
    if place.is_dir():
        _require_of_root(place)
        return ClusterPlace(place, _account_for(place))
    account = _account_for(None)
    _make_open(home)
    if not _reaches(account, home):
        place = _place_elsewhere(home, account, system_home)
    _make_open(place)
    return ClusterPlace(place, account)


def _require_of_root(*paths: Path) -> None:
    """Checks, under root, that nobody else can move these paths: files that root writes and removes there could be
    redirected."""
    for path in paths:
        try:
            found = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        open_to_all = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_IWOTH
        if found.st_uid != 0 or open_to_all:
            whose = "can be written by everyone" if open_to_all else f"belongs to uid {found.st_uid}"
            raise Unreachable(
                f"{path} {whose}, and root starts PostgreSQL only where root alone can write",
                remedy="run as the owner of that folder, or set TENAX_HOME to a folder of root",
            )


def _place_of_user(home: Path) -> ClusterPlace:
    uid = os.geteuid()
    account = Account(uid, os.getegid(), str(uid), switch=False)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    place = existing_place(home)
    place.mkdir(mode=0o700, exist_ok=True)
    owner = next((data.stat().st_uid for data in data_folders(place)), uid)
    if owner != uid:
        raise Unreachable(
            f"the database in {place} belongs to another user (uid {owner})",
            remedy="run as that user, or set TENAX_HOME to a folder of your own",
        )
    return ClusterPlace(place, account)


def _account_for(place: Path | None) -> Account:
    """Returns the account under root: the owner of the existing data, or else the first unprivileged account of this
    machine."""
    if place and (data := data_folders(place)):
        uid = data[-1].stat().st_uid
        try:
            owner = pwd.getpwuid(uid)
        except KeyError:
            raise Unreachable(
                f"the data in {data[-1]} belongs to uid {uid}, which this machine does not know",
                remedy=f"give the folder to a user of this machine: chown -R postgres {data[-1]}",
            ) from None
        return Account(owner.pw_uid, owner.pw_gid, owner.pw_name, switch=True)
    for name in _ACCOUNTS:
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(found.pw_uid, found.pw_gid, name, switch=True)
    raise Unreachable(
        f"PostgreSQL does not run as root, and this machine has no user named {' or '.join(_ACCOUNTS)}",
        remedy="make one: useradd --system tenax",
    )


def _place_elsewhere(home: Path, account: Account, system_home: Path) -> Path:
    _make_open(system_home)
    if not _reaches(account, system_home):
        raise Unreachable(
            f"PostgreSQL runs as {account.name} here, who can enter neither {home} nor {system_home}",
            remedy=f"chmod a+x {system_home}, or set TENAX_HOME to a folder that others can enter",
        )
    # The name does not depend on the path of home alone. A home that was removed and made again must not find its old data.
    place = Path(os.path.realpath(system_home)) / "homes" / f"{home.name}-{uuid.uuid4().hex[:12]}"
    draft = home / f".{POINTER}-{uuid.uuid4().hex}"
    draft.write_text(f"{place}\n", "utf-8")
    try:
        # Unlike a rename, a link fails if another process was first.
        (home / POINTER).hardlink_to(draft)
    except FileExistsError:
        return existing_place(home)
    finally:
        draft.unlink()
    _make_open(place)
    (place / "home").write_text(f"{home}\n", "utf-8")
    return place


def _make_open(folder: Path) -> None:
    """Makes a folder and its missing parents so that others may enter. An existing folder stays as it is."""
    for missing in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
        try:
            missing.mkdir(mode=0o755)
        except FileExistsError:
            continue
        missing.chmod(0o755)  # whatever the umask is


def _make_private(folder: Path, account: Account) -> None:
    try:
        folder.mkdir(mode=0o700)
        account.give(folder)
    except FileExistsError:
        found = folder.lstat()
        private = stat.S_ISDIR(found.st_mode) and not stat.S_IMODE(found.st_mode) & 0o077
        if private and account.switch and found.st_uid == 0:
            account.give(folder)  # made by a process that died before it gave it away
        elif not private or found.st_uid != account.uid:
            raise Unreachable(
                f"{folder} must be a folder that only user {account.name} can enter, and it is not",
                remedy=f"look at what it is, and remove it: ls -ld {folder}",
            ) from None


def _reaches(account: Account, folder: Path) -> bool:
    """Asks the kernel whether the account reaches the folder. Mode bits alone do not tell (access lists, mounts)."""
    asked = subprocess.run(
        ["/bin/sh", "-c", 'test -x "$1"', "sh", folder],
        cwd="/",
        stdin=subprocess.DEVNULL,
        check=False,
        **account.for_process(),
    )
    return asked.returncode == 0


def _fits(socket_folder: Path) -> bool:
    return len(os.fsencode(socket_folder / f".s.PGSQL.{PORT}")) <= _LONGEST_SOCKET_PATH
