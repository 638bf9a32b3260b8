"""Declares the base of the keys that one type of step has."""

from __future__ import annotations

from typing import Any, ClassVar

from tenax.model.parse.shape import Shape, keys_by_field


class OwnKeys(Shape):
    """Declares the keys of one type of step. Templates in them stay text until an attempt is leased."""

    only_if_given: ClassVar[frozenset[str]] = frozenset()
    """The keys that have no default."""

    def spec(self, own: type[OwnKeys]) -> dict[str, Any]:
        """Returns the keys of the type, with their defaults, as a step keeps them."""
        given = self.model_fields_set
        values = {
            key: getattr(self, name)
            for name, key in keys_by_field(own).items()
            if name in given or name not in own.only_if_given
        }
        return {
            key: value.model_dump() if isinstance(value, Shape) else value for key, value in values.items()
        }
