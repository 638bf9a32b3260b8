"""Tests which files are sent along with a definition."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenax.errors import InvalidDefinition
from tenax.sdk.bundle import bundle
from tenax.sdk.files import DefinitionFile, read_definition

LEAF = "name: leaf\nworkflow:\n  - {step: a, type: process, command: 'true'}\n"


def calling(name: str, *files: str) -> str:
    steps = "".join(f"  - step: s{n}\n    type: workflow\n    file: {file}\n" for n, file in enumerate(files))
    return f"name: {name}\nworkflow:\n{steps}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder: Path, **files: str) -> None:
    """`parts__leaf` is parts/leaf.yaml."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_files_are_gathered_by_their_path_from_the_first_one(folder):
    written(
        folder,
        flows__top=calling("top", "parts/middle.yaml", "parts/../leaf.yaml"),
        flows__parts__middle=calling("middle", "../leaf.yaml", "deep/leaf.yaml", "../../shared.yaml"),
        flows__parts__deep__leaf=LEAF,
        flows__leaf=LEAF,
        shared=LEAF,
    )
    files = bundle(read_definition("flows/top.yaml"))
    assert sorted(files) == ["../shared.yaml", "leaf.yaml", "parts/deep/leaf.yaml", "parts/middle.yaml"]
    assert files["leaf.yaml"] == LEAF


def test_a_definition_that_is_no_file_names_those_of_its_folder(folder):
    written(folder, leaf=LEAF)
    definition = DefinitionFile(calling("top", "leaf.yaml"), "<stdin>", str(folder))
    assert bundle(definition) == {"leaf.yaml": LEAF}


def test_a_definition_that_is_wrong_itself_is_left_to_its_check(folder):
    written(folder, top="name: top\nworkflow: 5\n")
    assert bundle(read_definition("top.yaml")) == {}


def test_a_long_chain(folder):
    written(folder, **{f"f{n}": calling(f"f{n}", f"f{n + 1}.yaml") for n in range(300)}, f300=LEAF)
    assert len(bundle(read_definition("f0.yaml"))) == 300


WRONG = {
    "missing": ({"flows__top": calling("top", "parts/none.yaml")}, "flows/top.yaml:5:5: workflow[0].file: flows/parts/none.yaml: there is no such file"),
    "a folder": ({"flows__top": calling("top", "parts"), "flows__parts__x": LEAF}, "flows/top.yaml:5:5: workflow[0].file: flows/parts: this is a folder, not a file"),
    "a circle": (
        {"flows__top": calling("top", "b.yaml"), "flows__b": calling("b", "sub/c.yaml"), "flows__sub__c": calling("c", "../b.yaml")},
        "flows/sub/c.yaml:5:5: workflow[0].file: the files start each other in a circle: b.yaml -> sub/c.yaml -> b.yaml",
    ),
    "itself": ({"flows__top": calling("top", "../flows/top.yaml")}, "the files start each other in a circle: ../flows/top.yaml -> ../flows/top.yaml"),
    "a child that is wrong": ({"flows__top": calling("top", "child.yaml"), "flows__child": LEAF.replace("command", "comand")}, "flows/child.yaml:3:"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_gathered(name, folder):
    files, words = WRONG[name]
    written(folder, **files)
    with pytest.raises(InvalidDefinition) as refused:
        bundle(read_definition("flows/top.yaml"))
    assert words in str(refused.value)
