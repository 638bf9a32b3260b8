"""Finds the function for the name in a step: among registered tasks, then in modules beside the file, then on `sys.path`."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from tenax.codec import CallSignature
from tenax.codec.calls import context_parameter
from tenax.sdk.task import REGISTRY, Task
from tenax.sdk.tasks.options import checks_deferred

_MAX_FOLDERS = 3
"""Folders that a message names."""
_IMPORT_LOCK = threading.RLock()
"""Lets one import at a time change `sys.path`, which the whole process shares."""


class NoHandler(Exception):
    """This worker has no such handler. Another worker may have it, so the lease is handed back and the attempt is not counted."""


@dataclass(frozen=True, slots=True)
class Handler:
    """Holds a function that is ready to be called."""

    task: Task[..., Any]
    function: Callable[..., Any]
    """The function that the task had when the handler was made."""
    is_async: bool
    context_parameter: str | None
    """The name of the parameter that takes the context, or None."""
    signature: inspect.Signature | None
    """The signature of the function. None for built-in functions without one."""
    declared: CallSignature | None
    """The signature by which arguments are rebuilt. None for a function without `@task`, which gets plain JSON."""
    known_shapes: set[tuple[int, frozenset[str]]] = field(default_factory=set, compare=False)
    """Shapes of calls that fit the signature: the number of positional arguments, and the names of the others. Binding the arguments
    at every call would cost more than the rest of a short call."""

    @property
    def name(self) -> str:
        return self.task.name

    @property
    def process(self) -> bool:
        return self.task.process

    def renewed(self) -> Handler:
        """Returns the handler of the function that the task has now: this one, unless a test has replaced the function."""
        if self.task.function is self.function:
            return self
        return replace(handler_of(self.task), declared=self.declared)


def find_handler(name: str, base_dir: str | None) -> Handler:
    """Finds a handler. Raises `NoHandler` if there is none. Errors raised by a module during its import pass through unchanged."""
    if (task := REGISTRY.find(name)) is not None:
        return task_handler(task)
    module_name, colon, path = name.partition(":")
    if not colon:
        raise NoHandler(f"no task is registered as {name!r}; known here: {_known_tasks()}{_suggestion(name)}")
    module = import_beside(module_name, base_dir)
    target: Any = module
    for part in path.split("."):
        target = getattr(target, part, None)
    if not callable(target):
        # The import of the module may have registered this name.
        if (task := REGISTRY.find(name)) is not None:
            return task_handler(task)
        raise NoHandler(_missing(module_name, path))
    if isinstance(target, Task):
        return task_handler(target)
    if (task := REGISTRY.of(target)) is not None:
        return task_handler(task)
    return handler_of(Task(name, target, found_at=(module.__name__, tuple(path.split(".")))))


def task_handler(task: Task[..., Any]) -> Handler:
    """Returns the handler of a registered task. Raises `InvalidValue` if its annotations cannot be read."""
    return replace(handler_of(task), declared=task.signature)


def handler_of(task: Task[..., Any]) -> Handler:
    """Returns the handler of a function that gets plain JSON."""
    function = task.function
    signature = _signature(function)
    context = context_parameter(signature) if signature is not None else None
    return Handler(task, function, inspect.iscoroutinefunction(function), context, signature, None)


def load_modules(names: tuple[str, ...]) -> None:
    """Imports modules for the tasks that they register (`tenax worker MODULE ...`). Searches the working folder too."""
    for name in names:
        import_beside(name, str(Path.cwd()))


def import_beside(name: str, base_dir: str | None) -> ModuleType:
    """Imports a module, and searches `base_dir` first. Raises `NoHandler` if there is no such module."""
    with _IMPORT_LOCK:
        beside = _spec_beside(name, base_dir)
        loaded = sys.modules.get(name)
        if beside is not None and loaded is not None and _origin(loaded) != beside.origin:
            return _import_alias(name, beside, base_dir)
        try:
            with _first_on_path(base_dir if beside is not None else None), checks_deferred():
                return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
                raise NoHandler(f"there is no module {name!r} in {_searched(base_dir)}") from error
            raise
        except ValueError as error:  # an empty or relative name
            raise NoHandler(f"{name!r} is not the name of a module") from error


def _searched(base_dir: str | None) -> str:
    """Returns the folders in which a module was looked for, the first of them by name."""
    folders = list(dict.fromkeys(folder for folder in (base_dir, *sys.path) if folder))
    more = f" (nor in {len(folders) - _MAX_FOLDERS} more)" if len(folders) > _MAX_FOLDERS else ""
    return ", ".join(folders[:_MAX_FOLDERS]) + more


def _spec_beside(name: str, base_dir: str | None) -> ModuleSpec | None:
    if base_dir is None or not Path(base_dir).is_dir():
        return None
    return find_module(name, [base_dir])


def find_module(name: str, folders: Sequence[str]) -> ModuleSpec | None:
    """Finds a module in these folders. Imports nothing, neither the module nor the packages around it."""
    if not name:
        return None
    importlib.invalidate_caches()
    search, spec = list(folders), None
    for depth in range(1, name.count(".") + 2):
        spec = PathFinder.find_spec(".".join(name.split(".")[:depth]), search)
        if spec is None:
            return None
        search = list(spec.submodule_search_locations or [])
    return spec


def _import_alias(name: str, spec: ModuleSpec, base_dir: str | None) -> ModuleType:
    """Imports a module under an alias, because a module with the same name in another folder is already loaded."""
    alias = f"{name}@{base_dir}"
    if alias in sys.modules:
        return sys.modules[alias]
    own = importlib.util.spec_from_file_location(
        alias, spec.origin, submodule_search_locations=spec.submodule_search_locations
    )
    if own is None or own.loader is None:
        raise NoHandler(f"the module {name!r} in {base_dir} cannot be loaded")
    module = importlib.util.module_from_spec(own)
    sys.modules[alias] = module
    try:
        with _first_on_path(base_dir), checks_deferred():
            own.loader.exec_module(module)
    except BaseException:
        del sys.modules[alias]
        raise
    return module


@contextmanager
def _first_on_path(folder: str | None) -> Iterator[None]:
    if folder is None:
        yield
        return
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _origin(module: ModuleType) -> str | None:
    return module.__spec__.origin if module.__spec__ is not None else getattr(module, "__file__", None)


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    """Returns the signature of the function as it is called. A decorator may have changed the arguments."""
    try:
        return inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):  # some builtins have none
        return None


def _missing(module: str, path: str) -> str:
    if module == "__main__":
        return (
            f"the task '__main__:{path}' belongs to a script, and runs only in the process of that script; move it into a module "
            "that workers can import"
        )
    return f"the module {module!r} has no function {path!r}"


def _known_tasks() -> str:
    names = sorted(task.name for task in REGISTRY)
    return ", ".join(names[:20]) or "none"


def _suggestion(name: str) -> str:
    """Returns a hint for a name with a dot in the place of the colon, or for a function without its module."""
    module, dot, function = name.rpartition(".")
    if dot and module and function:
        return f"; did you mean module:function, e.g. {module}:{function}?"
    if next(iter(REGISTRY), None) is None:
        return f"; did you mean module:function, e.g. mytasks:{name if name.isidentifier() else 'load'}?"
    return ""
