"""The setting `server`: one address, or several with commas between them."""

from __future__ import annotations

import pytest

from tenax.errors import UsageError
from tenax.settings import load_settings


def loaded(folder, text=None, **env):
    if text:
        (folder / "tenax.toml").write_text(text)
    return load_settings(env={"TENAX_HOME": str(folder), **env}, cwd=folder)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("http://a:8520", "http://a:8520"),
        ("http://a:8520/ , https://b/tenax/", "http://a:8520,https://b/tenax"),
    ],
)
def test_addresses(tmp_path, written, read):
    assert loaded(tmp_path, TENAX_SERVER=written).server == read


def test_a_list_in_the_file(tmp_path):
    assert loaded(tmp_path, 'server = ["http://a:1", "http://b:2"]').server == "http://a:1,http://b:2"


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("b:8520", "TENAX_SERVER=b:8520: expected an address such as http://127.0.0.1:8520"),
        ("http://a,b:8520", "number 2 ('b:8520') is not an address such as http://127.0.0.1:8520"),
        ("http://a,", "number 2 ('') is not an address"),
    ],
)
def test_each_address_is_checked(tmp_path, written, words):
    with pytest.raises(UsageError) as raised:
        loaded(tmp_path, TENAX_SERVER=written)
    assert words in raised.value.message


@pytest.mark.parametrize("written", ["[]", "7", '["http://a", 7]'])
def test_what_is_no_list_of_addresses(tmp_path, written):
    with pytest.raises(UsageError, match="server = "):
        loaded(tmp_path, f"server = {written}")
