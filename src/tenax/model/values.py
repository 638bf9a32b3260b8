"""Typed values: frozen msgspec structs whose fields are given by name, in every class below `Value`."""

from __future__ import annotations

from typing import Any, dataclass_transform

import msgspec


class _ValueMeta(msgspec.StructMeta):
    """Makes each class frozen and its fields keywords. msgspec asks every subclass to say so again."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any) -> Any:
        config |= {"frozen": True, "kw_only": True, "gc": False}
        return super().__new__(mcls, name, bases, namespace, **config)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Value(msgspec.Struct, metaclass=_ValueMeta, frozen=True):
    """A value that nobody changes."""
