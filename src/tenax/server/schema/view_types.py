"""The views of the engine as types that pydantic knows: the description of the API is made from them."""

from __future__ import annotations

from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter

from tenax.model.views import OpenPart, View
from tenax.server.schema.struct_requests import dataclass_like


def view_adapter(view: type[View]) -> TypeAdapter[Any]:
    return TypeAdapter(_described(view))


def list_adapter(view: type[View]) -> TypeAdapter[Any]:
    many: Any = list[_described(view)]  # type: ignore[misc]  # a type that is made here
    return TypeAdapter(many)


@cache
def _described(view: type[View]) -> type:
    """Makes a dataclass with the name, the fields and the docstring of a view."""
    hints = {name: _plain(hint) for name, hint in get_type_hints(view).items()}
    return dataclass_like(view, view.__name__, hints, view.__doc__)


def _plain(hint: Any) -> Any:
    """Puts dataclasses in the place of the views that a type names, and open objects in that of open parts."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is None:
        return _plain_class(hint) if isinstance(hint, type) else hint
    if origin in (Union, UnionType):
        return reduce(or_, (_plain(one) for one in arguments))
    return origin[tuple(_plain(one) for one in arguments)] if origin in (list, dict) else hint


def _plain_class(hint: type) -> Any:
    if issubclass(hint, View):
        return _described(hint)
    return dict[str, Any] if issubclass(hint, OpenPart) else hint
