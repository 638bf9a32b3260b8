"""Checks that imports form no circle, and that no module puts callbacks into the objects of another."""

from __future__ import annotations

import ast
from pathlib import Path

SRC = Path(__file__).parents[2] / "src"
MODULES = {
    ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((SRC / "tenax").rglob("*.py"))
}


def imports_of(name: str) -> set[str]:
    """Returns the modules of ours that a module imports anywhere: at its top, for types only, or within a function."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[name].read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    submodules = {one for one in found if one in MODULES}
    # `from package import module` needs the module, and the package only if it takes something else from it too.
    return {
        one
        for one in submodules
        if one != name and not any(other.startswith(f"{one}.") for other in submodules)
    }


def circle(imports: dict[str, set[str]]) -> list[str]:
    """Returns the modules of circles: takes away all modules that import none of the others, or that none of the others imports."""
    left = set(imports)
    while free := {
        name for name in left if not imports[name] & left or not any(name in imports[other] for other in left)
    }:
        left -= free
    return sorted(left)


def test_a_circle_is_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == ["b", "c"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_no_module_imports_itself_by_way_of_others():
    assert imports_of("tenax.cli.backend.protocol") >= {
        "tenax.cli.flags",
        "tenax.errors",
    }  # one of them for types only
    assert circle({name: imports_of(name) for name in MODULES}) == []


def test_nobody_assigns_callbacks_to_the_objects_of_others():
    """Listeners are given to a constructor, or to the one method that takes all listeners."""
    assigned = [
        f"{name}:{node.lineno} {ast.unparse(node)}"
        for name, path in MODULES.items()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute)
        and target.attr.startswith("on_")
        and target.attr != "on_failure"  # a field of steps, not a callback
        and not (isinstance(target.value, ast.Name) and target.value.id == "self")
    ]
    assert assigned == []
