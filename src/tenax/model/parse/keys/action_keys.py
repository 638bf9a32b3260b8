"""Declares the keys of steps that run an action of a pack."""

from __future__ import annotations

from typing import Any

from tenax.model.packs.names import ACTION_REF, is_action_ref
from tenax.model.parse.field_types import TEMPLATE, is_template, text
from tenax.model.parse.keys.own_keys import OwnKeys
from tenax.model.parse.shape import Mismatch, ValueReader, declare
from tenax.model.source.findings import shorten


def _action_ref(value: Any) -> str:
    ref = text(value)
    if "{{" in ref:
        raise ValueError(
            "`action` cannot be a template: the server must know what a step runs before it runs"
        )
    if not is_action_ref(ref):
        raise ValueError(f"`{shorten(ref)}` is not the name of an action: write it as PACK.ACTION")
    return ref


def _params(value: Any) -> Any:
    if not isinstance(value, dict) and not is_template(value):
        raise Mismatch("a mapping of parameters, or a template that gives one")
    return value


class ActionKeys(OwnKeys):
    action: str = declare(
        "the [action of a pack](packs.md): `PACK.ACTION`",
        ValueReader(_action_ref, {"type": "string", "pattern": f"^{ACTION_REF}$"}),
        needed="an action step names the action of a pack, as PACK.ACTION",
        stand_in="unread.unread",
    )
    params: Any = declare(
        "the parameters of the action: a mapping, or a template that gives one",
        ValueReader(_params, {"anyOf": [{"type": "object"}, TEMPLATE]}),
        default={},
    )
