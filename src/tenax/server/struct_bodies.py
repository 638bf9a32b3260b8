"""Structs of the model as types that pydantic reads: pydantic checks the fields, the structs carry them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, make_dataclass
from operator import attrgetter
from typing import Annotated, Any, get_type_hints

from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo, fields
from pydantic import AfterValidator


def struct_body(struct: type[Struct], description: str, **narrower: Any) -> Any:
    """Makes the type of a body that is read as a struct. `narrower` has the fields that strangers must keep to bounds in."""
    hints = get_type_hints(struct) | narrower
    body = make_dataclass(
        f"{struct.__name__}Body",
        [(one.name, hints[one.name], _default(one)) for one in fields(struct)],
        slots=True,
        namespace={"__doc__": description},
    )
    return Annotated[body, AfterValidator(_into(struct))]


def _default(of: FieldInfo) -> Any:
    return field() if of.default is NODEFAULT else field(default=of.default)


def _into(struct: type[Struct]) -> Callable[[Any], Struct]:
    values = attrgetter(*struct.__struct_fields__)
    return lambda body: struct(*values(body))
