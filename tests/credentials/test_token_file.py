"""The token of a home: who can read it, who is shown it, and what becomes of two who write it at once."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from tenax.credentials.token_file import keep_token, own_token, read_token, replace_token
from tenax.errors import Unreachable, UsageError
from tenax.settings import load_settings
from tenax.settings.home import find_home


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "new" / "home"


def test_only_its_user_can_read_it_from_the_start(home: Path, monkeypatch) -> None:
    """Whatever the umask is, the file has its mode from the start, and is never open to others."""
    modes: list[int] = []
    link = os.link

    def watched(source: Path, target: Path) -> None:
        modes.append(stat.S_IMODE(source.stat().st_mode))
        link(source, target)

    monkeypatch.setattr(os, "link", watched)
    before = os.umask(0)
    try:
        assert keep_token(home, "tenax_a") == "tenax_a"
    finally:
        os.umask(before)
    assert modes == [0o600]
    assert stat.S_IMODE((home / "token").stat().st_mode) == 0o600
    assert [path.name for path in home.iterdir()] == ["token"]
    assert read_token(home) == "tenax_a"


def test_the_first_of_many_writers_is_the_one_that_counts(home: Path) -> None:
    found: list[str] = []
    ready = threading.Barrier(8)

    def write(number: int) -> None:
        ready.wait()
        found.append(keep_token(home, f"tenax_{number}"))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert set(found) == {read_token(home)}
    replace_token(home, "tenax_new")
    assert read_token(home) == "tenax_new"
    assert [path.name for path in home.iterdir()] == ["token"]


def test_a_link_that_someone_laid_is_not_written_through(home: Path, tmp_path: Path) -> None:
    home.mkdir(parents=True)
    target = tmp_path / "of-another"
    target.write_text("precious")
    (home / "token").symlink_to(target)
    replace_token(home, "tenax_a")
    assert target.read_text() == "precious"
    assert not (home / "token").is_symlink()


def test_one_that_others_can_read_is_not_used(home: Path) -> None:
    keep_token(home, "tenax_a")
    (home / "token").chmod(0o640)
    with pytest.raises(UsageError, match="other users can read the token") as raised:
        read_token(home)
    assert "chmod 600" in str(raised.value.remedy)


def test_a_home_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Unreachable, match="the token of this user cannot be kept there") as raised:
        keep_token(tmp_path / "file", "tenax_a")
    assert "TENAX_HOME" in str(raised.value.remedy)


@pytest.mark.parametrize(
    ("server", "shown"),
    [
        ("http://127.0.0.1:8520", True),
        ("http://localhost:8520/", True),
        ("https://[::1]:8520", True),
        ("http://127.0.0.1:1, http://127.0.0.2:2", True),
        ("http://example.org:8520", False),
        ("http://127.0.0.1:1,http://example.org", False),
        ("http://127.0.0.1.example.org", False),
        ("http://127.0.0.1@example.org", False),
        ("http://me:secret@127.0.0.1:8520", False),
        ("http://[::1", False),
        (None, False),
    ],
)
def test_only_servers_on_loopback_are_shown_it(home: Path, server: str | None, shown: bool) -> None:
    keep_token(home, "tenax_own")
    assert own_token(server, None, home) == ("tenax_own" if shown else None)
    assert own_token(server, "given", home) == "given"
    assert own_token(server, "", home) == "", "none at all, on purpose"


def test_clients_look_where_the_settings_say(home: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tenax.toml").write_text(f"home = '{home}'")
    monkeypatch.delenv("TENAX_HOME")
    assert find_home() == load_settings().home == home
    monkeypatch.setenv("TENAX_HOME", str(tmp_path / "other"))
    assert find_home() == load_settings().home == tmp_path / "other"
