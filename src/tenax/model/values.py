"""Defines the bases of typed values: frozen msgspec structs whose fields are given by name."""

from __future__ import annotations

from typing import Any, dataclass_transform

import msgspec


class _ValueMeta(msgspec.StructMeta):
    """Makes every subclass frozen, with fields that are given by name. msgspec itself does not inherit these options."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any) -> Any:
        config |= {"frozen": True, "kw_only": True, "gc": False}
        return super().__new__(mcls, name, bases, namespace, **config)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Value(msgspec.Struct, metaclass=_ValueMeta, frozen=True):
    """Is an immutable value."""


class View(Value):
    """Is a view or a part of one. All of its fields are always present."""


class OpenPart(Value):
    """Is a part of a view that the API describes as an open object: fields may be absent, and later versions may add fields."""
