"""Reads and writes `$TENAX_HOME/token`, the token that a server makes for the user who starts it. Only this user can read the file.

Commands and clients of the user read it for servers on the same machine. It is never sent to any other server.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import secrets
import stat
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from tenax.errors import Unreachable, UsageError

FILE_NAME = "token"
_MAX_TOKEN = 1000


def token_file(home: Path) -> Path:
    return home / FILE_NAME


def own_token(server: str | None, token: str | None, home: Path | Callable[[], Path]) -> str | None:
    """Returns the token for a server: the given one, else that of this home if the server is on loopback.

    `server` may be several URLs with commas between them. Then all of them must be on loopback.
    """
    if token is not None or server is None or not are_local(server):
        return token
    return read_token(home() if callable(home) else home)


def are_local(servers: str) -> bool:
    """Returns whether all of these servers (URLs with commas between them) are on this machine."""
    return all(_is_local(url) for url in servers.split(","))


def read_token(home: Path) -> str | None:
    """Returns the token of this home. Returns None if there is none, or if the file belongs to another user."""
    file = token_file(home)
    try:
        with file.open("rb") as opened:
            seen = os.fstat(opened.fileno())
            if not stat.S_ISREG(seen.st_mode) or seen.st_uid != os.geteuid():
                return None
            text = opened.read(_MAX_TOKEN).decode("ascii", "replace").strip()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError):
        return None
    except OSError as error:
        raise _unusable(file, error) from error
    if seen.st_mode & 0o077:
        raise UsageError(
            f"{file}: other users can read the token in it, so it is not used",
            remedy=f"chmod 600 {file}; if someone may have read it, revoke that token and remove the file",
        )
    return text or None


def keep_token(home: Path, secret: str) -> str:
    """Writes the token of this home. Returns the token in the file, since another process may have written first."""
    file = token_file(home)
    written = _write_aside(file, secret)
    try:
        os.link(written, file)
    except FileExistsError:
        return read_token(home) or _replace(written, file, secret)
    except OSError:  # a file system without links
        return _replace(written, file, secret)
    finally:
        written.unlink(missing_ok=True)
    return secret


def replace_token(home: Path, secret: str) -> None:
    """Replaces the token of this home."""
    file = token_file(home)
    written = _write_aside(file, secret)
    try:
        _replace(written, file, secret)
    finally:
        written.unlink(missing_ok=True)


@lru_cache(maxsize=100)
def is_loopback(host: str) -> bool:
    """Returns whether only the same machine can reach this address. Of the names, only `localhost` is trusted."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _is_local(url: str) -> bool:
    """Returns whether a URL names this machine. A URL with a user name does not count, since it has a password of its own."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return False
    return parts.username is None and is_loopback(parts.hostname or "")


def _write_aside(file: Path, secret: str) -> Path:
    """Writes the secret to a new file in the same folder. No other user can read it at any time."""
    aside = file.with_name(f".{file.name}-{secrets.token_hex(8)}")
    try:
        # For root, PostgreSQL runs under another account, which must reach its own folder in there.
        file.parent.mkdir(mode=0o755 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            with open(descriptor, "w", encoding="ascii") as opened:  # noqa: PTH123 -- a descriptor, not a path
                opened.write(f"{secret}\n")
                opened.flush()
                os.fsync(descriptor)
        except BaseException:
            with contextlib.suppress(OSError):
                aside.unlink()
            raise
    except OSError as error:
        raise _unusable(file, error) from error
    return aside


def _replace(written: Path, file: Path, secret: str) -> str:
    try:
        written.replace(file)
    except OSError as error:
        raise _unusable(file, error) from error
    return secret


def _unusable(file: Path, error: OSError) -> Unreachable:
    return Unreachable(
        f"{file}: the token of this user cannot be kept there: {error.strerror or error}",
        remedy="set TENAX_HOME to a folder that this user can write, or make a token yourself: tenax token create NAME --role admin",
    )
