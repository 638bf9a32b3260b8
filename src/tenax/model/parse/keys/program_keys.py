"""Declares the keys of steps that run a program: `process` and `agent`. Reads the setting that gives tiers their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tenax.errors import UsageError
from tenax.model.definition.tiers import BUILT_IN, TIERS, Command, TierDefaults
from tenax.model.parse.field_types import (
    ANY,
    TEXT,
    TEXT_SCHEMA,
    WRITTEN_SCHEMA,
    as_written,
    refuse_template,
    text,
    text_mapping,
)
from tenax.model.parse.keys.own_keys import OwnKeys
from tenax.model.parse.retry_fields import parse_retry
from tenax.model.parse.shape import (
    Mismatch,
    ValueReader,
    Written,
    WrittenValueReader,
    declare,
    faults,
)
from tenax.model.source.findings import format_path, nearest, shorten


def _variable_fault(key: str, _value: str) -> str | None:
    return f"`{shorten(key)}` cannot be the name of an environment variable" if "=" in key else None


def _command(value: Any, written: Written) -> Command:
    if isinstance(value, str):
        return text(value)
    if not isinstance(value, list):
        raise Mismatch("text or a list of text")
    if not value:
        raise ValueError("must not be empty")
    words = [as_written(word, written(index)) for index, word in enumerate(value)]
    wrong: list[tuple[int, ValueError]] = [
        (index, Mismatch("text")) for index, word in enumerate(words) if not isinstance(word, str)
    ]
    if isinstance(words[0], str) and not words[0].strip():
        wrong.insert(0, (0, ValueError("the program to run must not be empty")))
    if wrong:
        raise faults(((index,), error, value[index]) for index, error in wrong)
    return words


COMMAND = WrittenValueReader(
    _command,
    {
        "anyOf": [
            TEXT_SCHEMA,
            {
                "type": "array",
                "prefixItems": [{"anyOf": [TEXT_SCHEMA, {"type": "number"}]}],
                "items": WRITTEN_SCHEMA,
                "minItems": 1,
            },
        ]
    },
)
ENVIRONMENT = text_mapping(_variable_fault, {"pattern": "^[^=]*$"})


class ProcessKeys(OwnKeys):
    command: str | list[str] = declare(
        "the command: a list is run as it is, a text by `sh -c`",
        COMMAND,
        needed="a process step needs what it runs, as text (for sh -c) or as a list",
        stand_in="unread",
    )
    env: dict[str, str] = declare("variables of the environment, by name", ENVIRONMENT, default={})
    cwd: str | None = declare("the folder in which the command runs", TEXT)
    params: Any = declare(
        "any value; the command gets it as JSON on stdin and in `$TENAX_PARAMS_FILE`", ANY, default={}
    )


def _tier(value: Any) -> str:
    refuse_template(value)
    tier = text(value)
    if tier not in TIERS:
        meant = nearest(tier, TIERS)
        hint = f"; did you mean `{meant}`?" if meant else f" (there are: {', '.join(TIERS)})"
        raise ValueError(f"unknown tier `{shorten(tier)}`{hint}")
    return tier


class AgentKeys(OwnKeys):
    only_if_given = frozenset({"command", "role", "model", "tier"})

    command: str | list[str] | None = declare(
        "the command that runs the agent, as in a process step. Without it, the command of the tier, or of the setting `agent_command`",
        COMMAND,
    )
    prompt: str = declare(
        "the task of the agent, which it gets in the file `$TENAX_PROMPT_FILE`",
        TEXT,
        needed="an agent step needs what the agent is to do",
        stand_in="unread",
    )
    role: str | None = declare("the role of the agent: `$TENAX_ROLE`", TEXT)
    model: str | None = declare("the model that the agent uses: `$TENAX_MODEL`", TEXT)
    env: dict[str, str] = declare("variables of the environment, by name", ENVIRONMENT, default={})
    tier: str | None = declare(
        "one of `legionary`, `centurion`, `tribune`: it gives defaults for the retry policy, the command and the model",
        ValueReader(_tier, {"enum": list(TIERS)}),
    )


# -- the setting


def tiers_of_settings(value: Any, source: str) -> Mapping[str, TierDefaults]:
    """Returns the defaults of every tier: the built-in ones, with what the setting `tiers` changes. `source` names the
    setting in error messages."""
    tiers = dict(BUILT_IN)
    for name, given in (value or {}).items():
        if name not in TIERS:
            raise UsageError(f"{source}: unknown tier {name!r} (there are: {', '.join(TIERS)})")
        if not isinstance(given, Mapping):
            raise UsageError(f"{source}: {name} must be a table of `retry`, `command` and `model`")
        tiers[name] = _changed(tiers[name], given, f"{source}: {name}")
    return tiers


def _changed(defaults: TierDefaults, given: Mapping[str, Any], source: str) -> TierDefaults:
    for key, value in given.items():
        match key:
            case "retry":
                patch, findings = parse_retry(value, ("retry",))
                if findings:
                    words = "; ".join(f"{format_path(path)}: {message}" for path, message in findings)
                    raise UsageError(f"{source}: {words}")
                defaults = replace(defaults, retry=patch)
            case "command":
                defaults = replace(defaults, command=command_of_settings(value, f"{source}.command"))
            case "model" if isinstance(value, str) and value.strip():
                defaults = replace(defaults, model=value)
            case "model":
                raise UsageError(f"{source}.model must be text")
            case _:
                raise UsageError(f"{source}: unknown key {key!r}: a tier has `retry`, `command` and `model`")
    return defaults


def command_of_settings(value: Any, source: str) -> Command | None:
    """Returns the command that a setting gives. `source` names the setting in error messages."""
    if value is None:
        return None
    is_list = isinstance(value, list | tuple) and value and all(isinstance(word, str) for word in value)
    if not (isinstance(value, str) and value.strip()) and not (is_list and value[0].strip()):
        raise UsageError(f"{source} must be a text (for sh -c) or a list of texts")
    return value if isinstance(value, str) else list(value)
