"""Tests that a worker holds neither the models of the settings nor the libraries below them in its memory."""

from __future__ import annotations

import os
import subprocess
import sys

HEAVY = {
    "pydantic",
    "pydantic_settings",
    "fastapi",
    "asyncpg",
    "tenax.settings.model",
    "tenax.policy",
    "tenax.store",
}
PROBE = """
import atexit, sys
atexit.register(lambda: open("modules", "w").write("\\n".join(sys.modules)))
"""


def test_a_worker_imports_no_models(start, tmp_path):
    """The server refuses its token, so that it ends after it has spoken."""
    server = start()
    server.token("viewer")
    (tmp_path / "probe.py").write_text(PROBE)
    (tmp_path / "tenax.toml").write_text(f'server = "{server.url}"\nhome = "."\nslots = 3\n')
    env = {name: value for name, value in os.environ.items() if not name.startswith("TENAX_")}
    done = subprocess.run(
        [sys.executable, "-m", "tenax", "worker", "probe"],
        cwd=tmp_path,
        env=env | {"TENAX_TOKEN": "unknown"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "the token is unknown" in done.stderr
    modules = set((tmp_path / "modules").read_text().split())
    assert {"tenax.worker.transport", "tenax.sdk.exchange"} <= modules
    assert modules.isdisjoint(HEAVY)
