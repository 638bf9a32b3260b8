"""Reads the source of a module, and tells which names a step can find in it. The module is parsed and never imported."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

_DYNAMIC_NAMES = frozenset({"globals", "exec", "eval", "setattr", "delattr", "REGISTRY"})
"""Names that a module may use to define, rename or register something that its source does not show."""
_DYNAMIC_ATTRIBUTES = frozenset({"modules", "__dict__"})
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_TASK = "task"


@dataclass(frozen=True, slots=True)
class ModuleNames:
    """Holds the names that the source of a module defines."""

    all: frozenset[str]
    """Every name that the module binds at its top level."""
    functions: frozenset[str]
    """The functions and classes among them that are defined here."""
    tasks: frozenset[str]
    """The names of `@task(name=...)`."""


def names_of_source(source: bytes) -> ModuleNames | None:
    """Returns the names of a module. Returns None if its source cannot be read, or may define names that it does not show."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as that of an invalid escape in a text
            tree = ast.parse(source)
        return _names_of_tree(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _names_of_tree(tree: ast.Module) -> ModuleNames | None:
    top = list(_top_level(tree))
    functions = frozenset(node.name for node in top if isinstance(node, _SCOPES))
    bound = functions.union(
        *map(_bound, top), *(n.names for n in ast.walk(tree) if isinstance(n, ast.Global))
    )
    if bound & {"*", "__getattr__"}:
        return None
    aliases = {_TASK, *_aliases_of_task(tree)}
    tasks: set[str] = set()
    for node in ast.walk(tree):
        if _is_dynamic(node):
            return None
        if isinstance(node, ast.Call) and _called(node.func) in aliases:
            for keyword in node.keywords:
                match keyword:
                    case ast.keyword(arg="name", value=ast.Constant(value=str(name))):
                        tasks.add(name)
                    case ast.keyword(arg="name" | None):  # a name that is computed, or `**options`
                        return None
    return ModuleNames(bound, functions, frozenset(tasks))


def _top_level(tree: ast.Module) -> Iterator[ast.AST]:
    """Yields the nodes that run in the scope of the module."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        yield node
        if isinstance(node, _SCOPES):
            left += node.decorator_list
        elif not isinstance(node, ast.Lambda):
            left += ast.iter_child_nodes(node)


def _bound(node: ast.AST) -> tuple[str, ...]:
    """Returns the names that a node binds. Those of a comprehension count too, which does no harm."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()):
            return (name,)
        case ast.Import(names=names):
            return tuple(one.asname or one.name.partition(".")[0] for one in names)
        case ast.ImportFrom(names=names):
            return tuple(one.asname or one.name for one in names)
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return (name,)
        case ast.MatchMapping(rest=str(name)):
            return (name,)
        case _:
            return ()


def _aliases_of_task(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (one.asname for one in node.names if one.name == _TASK and one.asname)


def _called(function: ast.expr) -> str | None:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return None


def _is_dynamic(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name, ctx=ast.Load()):
            return name in _DYNAMIC_NAMES
        case ast.Attribute(attr=name):
            return name in _DYNAMIC_ATTRIBUTES | _DYNAMIC_NAMES
        case ast.Call(func=ast.Name(id="vars" | "locals"), args=[]):
            return True
        case ast.ImportFrom(module="sys", names=names):
            return any(one.name in _DYNAMIC_ATTRIBUTES for one in names)
        case _:
            return False
