"""`tenax pack` and `tenax action`, on the database itself and on a server."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from support.packs import FLAKY_API, MYPACK, write_files

from tenax.model.parse.file_schema import action_schema

FILES = {**MYPACK, "pack.yaml": "version: 2\ndescription: calls APIs\n"}


@pytest.fixture(params=["database", "server"])
def tenax(request: Any, command: Any, tmp_path: Path) -> Any:
    """Runs a command on the database itself, or on a server."""
    if request.param == "server":
        where = {"TENAX_SERVER": request.getfixturevalue("server")}
    else:
        where = {"TENAX_DATABASE_URL": request.getfixturevalue("database_url")}
    write_files(tmp_path / "mypack", FILES)
    return lambda *arguments: command(*arguments, **where)


def test_packs(tenax: Any, tmp_path: Path) -> None:
    assert "no packs: `tenax pack install FOLDER` installs one" in tenax("pack", "list").out
    assert "no actions" in tenax("action", "list").out
    ended = tenax("pack", "install", "mypack")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("pack mypack, version 2, is installed: content ")
    assert "mypack.flaky_api_call" in ended.out
    again = tenax("pack", "install", "mypack", "--json").json
    assert (again["created"], again["replaced"]) == (False, None)
    (tmp_path / "mypack" / "readme.txt").write_text("x")
    assert f"in the place of {again['hash'][:12]}" in tenax("pack", "install", "mypack/").out
    [listed] = tenax("pack", "list", "--json").json
    assert (listed["name"], listed["version"], listed["files"]) == ("mypack", "2", 4)
    assert "mypack" in tenax("pack", "list").out
    shown = tenax("pack", "show", "mypack").out
    assert "calls APIs" in shown
    assert listed["hash"] in shown
    assert tenax("pack", "show", "mypack", "--json").json == listed
    assert tenax("action", "list", "--json").json[0]["ref"] == "mypack.flaky_api_call"
    assert "2m" in tenax("action", "list", "--pack", "mypack").out
    action = tenax("action", "show", "mypack.flaky_api_call").out
    assert "timeout 2m, 4 attempts" in action
    assert 'url: {"type":"string"}, required' in action
    assert tenax("pack", "remove", "mypack").out.startswith("pack mypack is removed: content ")
    gone = tenax("pack", "remove", "mypack")
    assert (gone.code, "there is no pack named 'mypack'" in gone.err) == (2, True)


def test_wrong_packs(tenax: Any, tmp_path: Path) -> None:
    (tmp_path / "mypack" / "actions" / "flaky-api.yaml").write_text(
        FLAKY_API.replace("runtime: python", "runtime: pyton")
    )
    ended = tenax("pack", "install", "mypack")
    assert ended.code == 2
    assert "actions/flaky-api.yaml:3:" in ended.err
    assert "did you mean `python`?" in ended.err
    for ref in ("mypack.x", "nodot"):
        assert tenax("action", "show", ref).code == 2


@pytest.mark.parametrize("kind", ["out", "absolute", "folder", "broken", "pipe", "name"])
def test_folders_that_are_no_packs(command: Any, tmp_path: Path, kind: str) -> None:
    """Nothing is asked of a server or a database: the folder is refused before."""
    folder = write_files(tmp_path / "mypack", MYPACK)
    (tmp_path / "secret").write_text("s")
    odd = folder / "odd"
    match kind:
        case "out":
            odd.symlink_to("../secret")
        case "absolute":
            odd.symlink_to("/etc/passwd")
        case "folder":
            odd.symlink_to("actions")
        case "broken":
            odd.symlink_to("nowhere")
        case "pipe":
            os.mkfifo(odd)
        case "name":
            (folder / "a\\b").write_text("")
    ended = command("pack", "install", "mypack", TENAX_SERVER="http://127.0.0.1:9")
    expected = {
        "out": "`odd` is a link out of the pack",
        "absolute": "`odd` is a link out of the pack",
        "folder": "`odd` is a link to no file of the pack",
        "broken": "`odd` is a link to no file of the pack",
        "pipe": "`odd` is a device, a pipe or a socket",
        "name": "which paths in a pack cannot have",
    }
    assert (ended.code, expected[kind] in ended.err) == (2, True), ended.err


def test_what_is_left_out_and_what_is_followed(command: Any, tmp_path: Path, database_url: str) -> None:
    folder = write_files(tmp_path / "mypack", {**MYPACK, ".git/config": "x", "lib/__pycache__/x.pyc": "x"})
    (folder / "same.py").symlink_to("actions/flaky_api.py")
    installed = command("pack", "install", "mypack", "--json", TENAX_DATABASE_URL=database_url).json
    shown = command("pack", "show", "mypack", "--json", TENAX_DATABASE_URL=database_url).json
    assert (installed["hash"], shown["files"]) == (shown["hash"], 3)
    ended = command("pack", "install", "nowhere", TENAX_DATABASE_URL=database_url)
    assert (ended.code, "there is no such folder" in ended.err) == (2, True)


def test_an_action_runs_here(command: Any, tmp_path: Path, database_url: str) -> None:
    write_files(tmp_path / "mypack", FILES)
    where = {"TENAX_DATABASE_URL": database_url}
    command("pack", "install", "mypack", **where)
    ended = command("action", "run", "mypack.flaky_api_call", "--param", "url=http://x", "--json", **where)
    assert ended.code == 0, ended.err
    assert ended.json["result"] == {"flaky_api_call": {"called": "http://x"}}
    assert (tmp_path / "home" / "packs").is_dir()
    refused = command("action", "run", "mypack.flaky_api_call", "--param", "ulr=3", **where)
    assert refused.code == 2
    assert "ulr: there is no such input; did you mean `url`?" in refused.err
    flow = "name: w\nworkflow:\n  - {step: s, action: mypack.flaky_api_call, params: {url: '{{ 1 + 1 }}'}}\n"
    (tmp_path / "flow.yaml").write_text(flow)
    assert command("validate", "flow.yaml").code == 0
    failed = command("run", "flow.yaml", "--json", **where)
    assert failed.code == 1
    failure = failed.json["steps"]["s"]["attempts"][0]["failure"]
    assert (failure["class"], failure["reason"]) == ("invalid", "invalid_parameters")


def test_the_schema_of_action_files(command: Any) -> None:
    assert json.loads(command("schema", "--action").out) == action_schema()
