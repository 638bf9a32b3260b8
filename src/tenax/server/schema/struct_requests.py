"""Structs of the model as types that pydantic reads: pydantic checks the fields, the structs carry them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, make_dataclass
from operator import attrgetter
from typing import Annotated, Any, get_type_hints

from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo, fields
from pydantic import AfterValidator


def struct_body(struct: type[Struct], description: str, **narrower: Any) -> Any:
    """Makes the type of a body that is read as a struct. `narrower` has the fields that strangers must keep to bounds in."""
    hints = get_type_hints(struct) | narrower
    body = dataclass_like(struct, f"{struct.__name__}Body", hints, description)
    return Annotated[body, AfterValidator(_into(struct))]


def dataclass_like(
    struct: type[Struct], name: str, hints: Mapping[str, Any], description: str | None
) -> type:
    """Makes a dataclass with the fields and the defaults of a struct, of these types."""
    like = [(one.name, hints[one.name], _default(one)) for one in fields(struct)]
    return make_dataclass(name, like, slots=True, namespace={"__doc__": description})


def _default(of: FieldInfo) -> Any:
    return field() if of.default is NODEFAULT else field(default=of.default)


def _into(struct: type[Struct]) -> Callable[[Any], Struct]:
    values = attrgetter(*struct.__struct_fields__)
    return lambda body: struct(*values(body))
