"""The server's default policy, from its settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenax.cli.input.policies import default_retry
from tenax.errors import UsageError
from tenax.settings import Settings, load_settings


def test_what_is_wrong_with_it_names_the_variable(tmp_path: Path) -> None:
    settings = load_settings(
        env={"TENAX_HOME": str(tmp_path), "TENAX_RETRY": '{"max_atempts": 5}'}, cwd=tmp_path
    )
    with pytest.raises(UsageError) as caught:
        default_retry(settings)
    assert caught.value.message.startswith('TENAX_RETRY={"max_atempts": 5}: retry.max_atempts: unknown key')
    assert "max_attempts" in caught.value.message


def test_without_a_source_it_is_still_named() -> None:
    with pytest.raises(UsageError, match=r"^the setting retry: retry\.rules\[0\]"):
        default_retry(Settings(retry={"rules": [{"on": 3}]}))
