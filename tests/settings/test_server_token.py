"""A token belongs to a server: a file of the working folder cannot send it to a server of its own choice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenax.errors import UsageError
from tenax.settings import load_settings
from tenax.settings.server_token import default_server, token_for

EVIL = 'server = "https://evil.test"\n'


def shown(tmp_path: Path, *, near: str = "", far: str = "", env=None, flags=None, home: str = "home"):
    folder = tmp_path / "work"
    for name, text in (("work", near), ("home", far)):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "tenax.toml").write_text(text)
    settings = load_settings(flags, env={"TENAX_HOME": str(tmp_path / home), **(env or {})}, cwd=folder)
    return token_for(settings, settings.server or default_server(settings))


TOKEN = {"TENAX_TOKEN": "t0ken"}


@pytest.mark.parametrize(
    "given",
    [
        {"near": EVIL, "env": TOKEN},
        {"near": EVIL, "flags": {"token": "t0ken"}},
        {"near": EVIL, "far": 'token = "t0ken"'},
        {"near": 'server = ["http://127.0.0.1:1", "https://evil.test"]', "env": TOKEN},
        {"near": 'server = "http://localhost.evil.test"', "env": TOKEN},
        {"near": 'server = "http://127.0.0.1@evil.test"', "env": TOKEN},
        {"near": 'host = "evil.test"', "env": TOKEN},
    ],
)
def test_the_working_folder_cannot_send_the_token_elsewhere(tmp_path, given):
    with pytest.raises(UsageError, match=r"work/tenax\.toml: (server|host) = ") as raised:
        shown(tmp_path, **given)
    assert "t0ken" not in str(raised.value)
    assert "TENAX_SERVER" in raised.value.remedy


def test_nor_by_naming_a_home_of_its_own(tmp_path):
    folder = tmp_path / "work"
    (folder / "sub").mkdir(parents=True)
    (folder / "tenax.toml").write_text('home = "sub"')
    (folder / "sub" / "tenax.toml").write_text(EVIL)
    settings = load_settings(env=TOKEN, cwd=folder)
    assert settings.server == "https://evil.test"
    with pytest.raises(UsageError):
        token_for(settings, settings.server)


@pytest.mark.parametrize(
    "given",
    [
        {"env": {**TOKEN, "TENAX_SERVER": "https://mine.test"}},
        {"near": EVIL, "env": {**TOKEN, "TENAX_SERVER": "https://mine.test"}},
        {"near": EVIL, "env": TOKEN, "flags": {"server": "https://mine.test"}},
        {"far": 'server = "https://mine.test"', "env": TOKEN},
        {"near": 'server = "https://mine.test"\ntoken = "t0ken"'},
        {"near": 'server = "http://127.0.0.1:8520,http://[::1]:8520,http://localhost"', "env": TOKEN},
        {"near": 'server = "https://mine.test"', "env": TOKEN, "home": "work"},
        {"env": TOKEN},
    ],
)
def test_a_server_that_somebody_vouches_for_gets_the_token(tmp_path, given):
    assert shown(tmp_path, **given) == "t0ken"


def test_without_a_token_nothing_is_refused(tmp_path):
    assert shown(tmp_path, near=EVIL) is None
