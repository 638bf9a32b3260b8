"""Rebuilds Python values from JSON by their annotations."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Reversible
from functools import lru_cache
from types import GenericAlias
from typing import Any, get_args, get_origin

import msgspec

from tenax.codec.pydantic_models import ModelMisfit, is_model, load_model
from tenax.errors import InvalidValue

_PATH = re.compile(r" - at (?P<of_key>`key` in )?`\$(?P<path>[^`]*)`$")
_LISTS = (Iterable, Collection, Container, Reversible)
"""Abstract types that msgspec does not know. JSON has a list for them."""
_FORMS = (
    "a union can hold one type that is a text in JSON (str, date, Enum, bytes, Decimal, ...), one that is a number, one that is a "
    "list and one that is a mapping"
)


def decode(annotation: Any, value: Any, *, place: str = "the value") -> Any:
    """Returns the value that the JSON `value` stands for. `place` names it in errors.

    Raises `InvalidValue` if it does not fit: `order.items[2].price: expected int, got str`. Also raises it
    if nothing can be rebuilt by the annotation.
    """
    try:
        return msgspec.convert(value, annotation, strict=True, str_keys=True, dec_hook=_rebuild)
    except msgspec.ValidationError as error:
        raise InvalidValue(_misfit(error, place)) from error
    except (TypeError, NameError) as error:
        raise InvalidValue(f"{place}: {_unreadable(annotation, error)}") from error


@lru_cache(maxsize=1000)
def annotation_fault(annotation: Any) -> str | None:
    """Returns why values cannot be rebuilt by an annotation. Returns None if they can."""
    try:
        msgspec.json.Decoder(annotation, dec_hook=_rebuild)
    except (TypeError, NameError) as error:
        return _unreadable(annotation, error)
    return None


def _rebuild(kind: Any, value: Any) -> Any:
    """Rebuilds a value of a type that msgspec does not know. Raises ValueError, to which msgspec adds the place."""
    if kind is object:
        return value
    if is_model(kind):
        return value if isinstance(value, kind) else load_model(kind, value)
    origin = get_origin(kind) or kind
    if origin in _LISTS:
        items = GenericAlias(list, get_args(kind)[:1] or (Any,))
        return msgspec.convert(value, items, str_keys=True, dec_hook=_rebuild)
    if hasattr(origin, "__fspath__") and isinstance(value, str):
        return origin(value)
    if isinstance(origin, type) and isinstance(value, origin):
        return value
    raise ValueError(
        f"Expected {getattr(kind, '__qualname__', kind)}, which cannot be rebuilt from JSON; use a dataclass, a pydantic model or plain data"
    )


def _misfit(error: msgspec.ValidationError, place: str) -> str:
    text = str(error)
    found = _PATH.search(text)
    if found is not None:
        text = text[: found.start()]
        place = f"{'a key of ' if found['of_key'] else ''}{place}{found['path']}"
    if isinstance(error.__cause__, ModelMisfit):
        place, text = place + error.__cause__.place, str(error.__cause__)
    text = text.replace("`", "")
    return f"{place}: {text[:1].lower()}{text[1:]}"


def _unreadable(annotation: Any, error: Exception) -> str:
    shown = getattr(annotation, "__qualname__", None) or str(annotation)
    if isinstance(error, NameError):
        return (
            f"the annotation {shown} cannot be read: {error}; import the name outside of `if TYPE_CHECKING`"
        )
    if "union" in str(error):
        return f"values of {shown} cannot be told apart in JSON: {_FORMS}"
    return f"values of {shown} cannot be rebuilt from JSON: {error}"
