"""Tests the reading of whole packs: their actions, their names and every mistake in their files."""

from __future__ import annotations

import io
from collections.abc import Mapping

import pytest
from support.packs import CALL, FLAKY_API, MYPACK, packed

from tenax.errors import InvalidDefinition, InvalidInput, TooLarge
from tenax.model.inputs.inputs import DefinitionLimits
from tenax.model.packs.manifest import Manifest
from tenax.policy.packs import read_pack as room
from tenax.policy.packs.read_pack import PackLimits, read_pack

LIMITS = PackLimits(1_000_000, DefinitionLimits())


def read(files: Mapping[str, str], folder: str | None = "p", *, executable: tuple[str, ...] = ()) -> Manifest:
    return read_pack(io.BytesIO(packed(files, executable=executable)), folder, None, LIMITS)


def test_a_pack() -> None:
    manifest = read({**MYPACK, "pack.yaml": "version: 2\ndescription: d"}, "mypack")
    assert (manifest.name, manifest.version, manifest.description) == ("mypack", "2", "d")
    assert (list(manifest.actions), manifest.files) == (["flaky_api_call"], 3)
    assert manifest.policies["flaky_api_call"]["max_attempts"] == 4
    assert Manifest.from_dict(manifest.as_dict()) == manifest


def test_the_hash_does_not_depend_on_the_name_of_the_folder() -> None:
    assert read(MYPACK, "a").hash == read(MYPACK, "b").hash != read({**MYPACK, "x": ""}, "a").hash


def test_the_name_of_a_pack() -> None:
    say = {"say.yaml": "name: say\ncommand: ls"}
    assert read(say, "from-folder").name == "from-folder"
    assert read({**say, "pack.yaml": "name: own"}, "a b").name == "own"
    for folder, expected in [(None, "has no name"), ("a b", "`a b` is not a name"), ("a.b", "is not a name")]:
        with pytest.raises(InvalidInput, match=expected):
            read(say, folder)


def test_action_files_are_in_actions_or_at_the_top() -> None:
    say, other = "name: say\ncommand: ls", "name: other\ncommand: ls"
    assert list(read({"say.yml": say, "other.yaml": other}).actions) == ["other", "say"]
    assert list(read({"say.yml": "no action", "actions/o.yaml": other}).actions) == ["other"]
    with pytest.raises(InvalidInput, match="the pack has no actions"):
        read({"actions/deep/say.yaml": say, "x.txt": ""})


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a.yaml": FLAKY_API}, "a.yaml: entrypoint: the pack has no file `actions/flaky_api.py`"),
        ({"a.yaml": "name: a\nruntime: python\nentrypoint: lib.x:f"}, "the pack has no module lib/x.py"),
        (
            {"a.yaml": "name: a\nruntime: process\nentrypoint: tool", "tool": ""},
            "`tool` cannot be executed: set its executable bit",
        ),
        ({"a.yaml": "name: a\ncommand: [./tool]"}, "a.yaml: command: the pack has no file `tool`"),
        (
            {"a.yaml": "name: x\ncommand: ls", "b.yaml": "name: x\ncommand: ls"},
            "b.yaml: name: the name `x` is taken by a.yaml",
        ),
        ({"a.yaml": "name: a\ncommand: ls\nretry: {retry_when: 'nonsense(('}"}, "a.yaml:3:"),
        ({"a.yaml": "name: a\ncommand: ls\nretry: {retry_when: 'failure.clas == 1'}"}, "clas"),
        (
            {"a.yaml": "name: a\ncommand: ls\nretry: {initial_delay: 10, max_delay: 5}"},
            "max_delay (5s) is less than initial_delay (10s)",
        ),
        ({"a.yaml": "name: a\ncommand: ls", "pack.yaml": "verson: 1"}, "pack.yaml:1:1: verson"),
        ({"a.yaml": "a: [", "b.yaml": "name: b\ncommand: ls"}, "a.yaml:"),
    ],
)
def test_mistakes(files: Mapping[str, str], expected: str) -> None:
    with pytest.raises(InvalidDefinition) as raised:
        read(files)
    assert expected in str(raised.value)


def test_the_mistakes_of_all_files_are_reported_at_once() -> None:
    with pytest.raises(InvalidDefinition) as raised:
        read({"a.yaml": "name: a", "b.yaml": "name: b", "c.yaml": "name: c\ncommand: ls"})
    assert [line.split(":")[0] for line in str(raised.value).splitlines()] == ["a.yaml", "b.yaml"]


def test_what_runs_is_found() -> None:
    files = {
        "f.yaml": "name: f\nruntime: python\nentrypoint: lib.x:f",
        "g.yaml": "name: g\nruntime: python\nentrypoint: pkg:g",
        "h.yaml": "name: h\nruntime: process\nentrypoint: bin/tool",
        "i.yaml": "name: i\ncommand: [./bin/tool, x]",
        "j.yaml": "name: j\ncommand: [/bin/ls]",
        "lib/x.py": CALL,
        "pkg/__init__.py": CALL,
        "bin/tool": "#!/bin/sh",
    }
    assert list(read(files, executable=("bin/tool",)).actions) == list("fghij")


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TooLarge, match=r"`a\.yaml` has more than 64,000 bytes"):
        read({"a.yaml": "#" * 64_001})
    with pytest.raises(InvalidInput, match="keep one"):
        read({"a.yaml": "name: a\ncommand: ls", "pack.yaml": "", "pack.yml": ""})
    monkeypatch.setattr(room, "MAX_ACTIONS", 1)
    with pytest.raises(TooLarge, match="at most 1 actions, and this one has 2"):
        read({"a.yaml": "name: a\ncommand: ls", "b.yaml": "name: b\ncommand: ls"})
