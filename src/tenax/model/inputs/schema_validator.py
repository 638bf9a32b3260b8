"""Makes validators of input schemas. They fetch nothing, and compare the elements of a list in linear time."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import cache
from typing import Any


def validator_of(schema: Mapping[str, Any]) -> Any:
    """Returns a validator of this schema. Its registry is empty, so a `$ref` cannot lead to another schema."""
    from referencing.jsonschema import EMPTY_REGISTRY

    return _validator_class()(schema, registry=EMPTY_REGISTRY)


@cache
def _validator_class() -> Any:
    from jsonschema import Draft202012Validator, validators

    extend: Any = validators.extend
    return extend(Draft202012Validator, {"uniqueItems": _unique_items})


def _unique_items(validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """Checks `uniqueItems` in linear time. The library's own check compares each element with all others."""
    from jsonschema import ValidationError

    if wanted and validator.is_type(instance, "array") and not _is_unique(instance):
        yield ValidationError(f"{instance!r:.300} has non-unique elements")


def _is_unique(elements: list[Any]) -> bool:
    seen: set[Hashable] = set()
    for element in elements:
        key = _key(element)
        if key in seen:
            return False
        seen.add(key)
    return True


def _key(value: Any) -> Hashable:
    """Returns a key that is equal for values that are equal in JSON, such as 1 and 1.0, but not 1 and true."""
    match value:
        case bool():
            return ("boolean", value)
        case list():
            return ("array", tuple(map(_key, value)))
        case dict():
            return ("object", frozenset((name, _key(part)) for name, part in value.items()))
        case _:
            return value  # type: ignore[no-any-return]  # a text, a number or null
