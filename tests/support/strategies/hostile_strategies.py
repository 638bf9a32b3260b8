"""Holds strategies for input that nobody should send, and says how many examples are tried.

`TENAX_FUZZ_EXAMPLES=5000 pytest tests/fuzz` is the long form. It tries this number of examples in each test without a server, a tenth of it
through a server, and different examples in each run. The short form tries the same few examples each time.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import yaml
from hypothesis import HealthCheck, note, settings
from hypothesis import strategies as st

from support.profiles import examples

LONG = int(os.environ.get("TENAX_FUZZ_EXAMPLES", "0"))
"""The number of examples of each test in the long form. 0 selects the short form."""
EXAMPLES = Path(__file__).parents[3] / "examples"

Test = TypeVar("Test", bound=Callable[..., Any])


def fuzzed(few: int, *, share: float = 1.0) -> Callable[[Test], Test]:
    """Sets how many examples a test tries: this number, or this share of the number of the long form."""
    return settings(
        max_examples=max(1, round(LONG * share)) if LONG else examples(few),
        derandomize=not LONG,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


THROUGH_A_SERVER = 0.1
"""The share of the examples that tests through a real server try."""


@contextlib.contextmanager
def no_hang(seconds: float = 60.0) -> Iterator[None]:
    """Ends a hanging test with an error. It measures nothing, since every example takes milliseconds."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise AssertionError(f"not done after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def assert_brief(error: Exception, longest: int) -> None:
    """Asserts that a refusal has a message, and a short one."""
    assert 0 < len(str(error)) < longest


# -- values


def assert_sound(answer: Any) -> None:
    """A status below 500, and a problem where it is an error."""
    note(f"{answer.status_code} {answer.text[:300]}")
    assert answer.status_code < 500
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        problem = answer.json()
        assert problem["status"] == answer.status_code
        assert problem["title"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3),
    max_leaves=6,
)
STORABLE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(
            st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5), below, max_size=3
        )
    ),
    max_leaves=8,
)
"""JSON that the server stores unchanged."""

ODD_NUMBERS = (
    *(0, -1, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63) - 1, 10**30, 10**400),
    *(-0.0, 5e-324, 1e308, float("nan"), float("inf"), float("-inf")),
)
ODD_TEXTS = (
    *("", " ", "\0", "\ud800", "\x85", "\u2028", "\ufeff", "\r", "e\u0301", "\U0001f600", "a" * 5_000),
    *("{{", "{{ input.x }}", "{{ steps.a.result }}", "{% for x in y %}", "{{ secret.A }}", "{{ 1 / 0 }}"),
    *(
        "__class__",
        "../../etc/passwd",
        "/",
        "yes",
        "~",
        "0x1f",
        "1:30",
        "1e999",
        "-5s",
        "5 weeks",
        "<<",
        "$ref",
    ),
)
ODD_VALUES = st.sampled_from(
    [*ODD_NUMBERS, *ODD_TEXTS, None, True, False, [], {}, [[]], {"a": {}}, [None]]
).map(copy.deepcopy)


def _nested(depth: int, *, as_list: bool) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value] if as_list else {"a": value}
    return value


JSON_PIECES = (
    *"{}[],:-", '"', "\\", "\\u0000", "\\ud800", "1e999", "NaN", "\0", "9" * 5_000, "[" * 300,
)  # fmt: skip
"""Pieces that are put into JSON texts to break them."""
DEEP = st.builds(_nested, st.integers(1, 260), as_list=st.booleans())


# -- mutations of valid documents


def _slots(tree: Any) -> list[tuple[Any, Any]]:
    """Returns every place of a tree: the container, and the key or index in it. Shared parts are visited once."""
    found: list[tuple[Any, Any]] = []
    seen: set[int] = set()
    todo = [tree]
    for part in todo:
        if id(part) in seen or not isinstance(part, dict | list):
            continue
        seen.add(id(part))
        below = part.items() if isinstance(part, dict) else enumerate(part)
        found += [(part, key) for key, _ in below]
        todo.extend(part.values() if isinstance(part, dict) else part)
    return found


_CHANGES = ("replace", "replace", "drop", "double", "alias", "deepen", "rename", "circle")


@st.composite
def mutated(draw: st.DrawFn, document: Any, *, keys: Any = None, most: int = 3) -> Any:
    """Generates a valid document with a few of its parts dropped, doubled, renamed, or replaced by odd values."""
    tree = copy.deepcopy(document)
    for _ in range(draw(st.integers(0, most))):
        slots = _slots(tree)
        if not slots:
            return draw(ODD_VALUES | JSON)
        container, key = slots[draw(st.integers(0, len(slots) - 1))]
        match draw(st.sampled_from(_CHANGES)):
            case "drop":
                del container[key]
            case "double" if isinstance(container, list):
                container.append(copy.deepcopy(container[key]))
            case "alias":
                other, at = slots[draw(st.integers(0, len(slots) - 1))]
                container[key] = copy.deepcopy(other[at]) if keys is None else other[at]
            case "circle" if keys is not None:
                container[key] = container
            case "deepen":
                container[key] = draw(DEEP)
            case "rename" if isinstance(container, dict):
                names = st.sampled_from(ODD_TEXTS) if keys is None else keys
                container[draw(names)] = container.pop(key)
            case _:
                container[key] = draw(ODD_VALUES | JSON)
    return tree


# -- workflow files

WORKFLOWS = tuple(
    text for path in sorted(EXAMPLES.rglob("*.yaml")) if "\nworkflow:" in (text := path.read_text("utf-8"))
)
_DOCUMENTS = tuple(yaml.safe_load(text) for text in WORKFLOWS)
_YAML_KEYS = st.sampled_from([*ODD_TEXTS, 1, 1.5, None, True, "retry", "needs", "for_each", "until", "vary"])
FRAGMENTS = (
    *(
        "name: w",
        "workflow:",
        "- step: a",
        "type: http",
        "task: t",
        "needs: a",
        "next: [b]",
        "x: {type: object}",
    ),
    *(
        "retry: {rules: [{on: x}]}",
        "retry: {vary: [{}]}",
        "for_each: [1]",
        "on_failure: {step: b}",
        "$ref: '#'",
    ),
    *(
        "&a ",
        "*a",
        "<<: *a",
        "<<: [*a, *a]",
        "{",
        "}",
        "[",
        "]",
        ": ",
        "- ",
        "? ",
        "\n",
        "\n  ",
        "\n    ",
        "!!int ",
    ),
    *("!x ", "!!python/object:os.system ", "'", '"', "|", ">", "---", "...", "\t", "%YAML 9.9\n", "#", ","),
    *(
        "1e999",
        ".nan",
        "0x",
        "08",
        "~",
        "yes",
        "{{ x }}",
        "{% %}",
        "\0",
        "\x85",
        "\ud800",
        "é",
        "\x07",
        "\ufffe",
    ),
    *('"\\0"', '"\\ud800"', '"\\U00110000"', "9" * 100),
)


@st.composite
def workflow_texts(draw: st.DrawFn) -> str:
    """Generates the text of a workflow file that was valid before it was mutated."""
    if draw(st.booleans()):
        return draw(broken_texts(draw(st.sampled_from(WORKFLOWS)), FRAGMENTS))
    tree = draw(mutated(draw(st.sampled_from(_DOCUMENTS)), keys=_YAML_KEYS))
    with contextlib.suppress(ValueError, TypeError, RecursionError):
        if draw(st.booleans()):
            return json.dumps(tree)
    # Shared parts become anchors and aliases.
    return yaml.dump(tree, allow_unicode=draw(st.booleans()), default_flow_style=draw(st.booleans()))


@st.composite
def broken_texts(draw: st.DrawFn, text: str, fragments: tuple[str, ...]) -> str:
    """Generates a text with pieces cut out, doubled or moved, and with fragments inserted."""
    for _ in range(draw(st.integers(1, 4))):
        begin, end = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
        end = min(end, begin + draw(st.integers(0, 40)))
        match draw(st.integers(0, 3)):
            case 0:
                text = text[:begin] + text[end:]
            case 1:
                text = text[:end] + text[begin:]
            case 2:
                text = text[:begin] + draw(st.sampled_from(fragments)) + text[end:]
            case _:
                at = draw(st.integers(0, len(text)))
                text = text[:at] + text[begin:end] + text[at:]
    return text


# -- schemas of inputs

PATTERNS = st.sampled_from(
    [
        *(
            "^[a-z0-9-]+$",
            "^abc$",
            "abc",
            r"^\d{4}-\d{2}$",
            "[a-z]+@[a-z.]+",
            "a*a*a*a*b",
            "^a{2,300}b",
            "x?" * 30,
        ),
        *(
            "^(a+)+$",
            "^([a-z0-9]+[._-]?)+@x$",
            "(a|aa)+$",
            r"(.)\1",
            "(?i)[a-z]",
            "(?=a)",
            "a|b",
            "(?P<n>a)(?P=n)",
        ),
        *(
            "[",
            "(",
            "a{2",
            "a{2,1}",
            "a{99999999999}",
            "*",
            r"\p{L}",
            r"\Z",
            "[z-a]",
            "(?<!a+)b",
            "\\",
            "[[a]&&b]",
        ),
        *("^" + "[a-z]*" * 8, "^a++$", "(" * 90 + ")" * 90, "é", r"[\d-z]", r"\u00e9", "$^", ".*" * 5, r"\x"),
    ]
)
_TYPES = st.sampled_from(["string", "number", "integer", "boolean", "null", "array", "object"])
_REFERENCES = st.sampled_from(
    [
        *(
            "#",
            "#/",
            "#/$defs/a",
            "#/$defs/b",
            "#/properties/a",
            "#/enum/0",
            "#/enum/x",
            "#/description",
            "#/type",
        ),
        *(
            "#/description/0",
            "#/type/0",
            "#/$defs",
            "#anchor",
            "#/%zz",
            "#/$defs/~2",
            "#/items/99",
            "#/allOf/-1",
        ),
        *("http://example.invalid/x", "other.json", "", "//x", "urn:x", "#/$defs/a/not/x", "#/required/0"),
    ]
)
_NAMES = st.sampled_from(["a", "b", "c", "$ref", "", "é", "a/b", "type"])


def _schemas_of(below: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    counts = st.integers(0, 4) | st.sampled_from([-1, 1.0, 0.5, 10**30])
    numbers = st.integers(-5, 5) | st.sampled_from([0, 0.1, 1e308, 5e-324, 2**64])
    named = st.dictionaries(_NAMES, below, max_size=3)
    listed = st.lists(below, min_size=1, max_size=3)
    keywords: dict[str, st.SearchStrategy[Any]] = {
        "type": _TYPES | st.lists(_TYPES, max_size=2) | st.just("text"),
        "properties": named,
        "patternProperties": st.dictionaries(PATTERNS, below, max_size=2),
        "additionalProperties": below,
        "propertyNames": below,
        "required": st.lists(_NAMES, max_size=2) | st.booleans(),
        "dependentRequired": st.dictionaries(_NAMES, st.lists(_NAMES, max_size=2), max_size=2),
        "dependentSchemas": named,
        "items": below,
        "prefixItems": listed,
        "contains": below,
        "minContains": counts,
        "uniqueItems": st.booleans(),
        "unevaluatedItems": below,
        "unevaluatedProperties": below,
        "minItems": counts,
        "maxLength": counts,
        "pattern": PATTERNS,
        "format": st.sampled_from(["date", "email", "regex", "nope"]),
        "enum": st.lists(STORABLE, max_size=3),
        "const": STORABLE,
        "minimum": numbers,
        "exclusiveMaximum": numbers,
        "multipleOf": numbers,
        "allOf": listed,
        "anyOf": listed,
        "oneOf": listed,
        "not": below,
        "if": below,
        "then": below,
        "else": below,
        "$ref": _REFERENCES,
        "$defs": named,
        "default": STORABLE,
        "description": st.sampled_from(["text", ""]),
        "$schema": st.sampled_from(
            ["https://json-schema.org/draft/2020-12/schema", "x", "http://json-schema.org/draft-04/schema#"]
        ),
    }
    return st.lists(st.sampled_from(sorted(keywords)), max_size=4, unique=True).flatmap(
        lambda names: st.fixed_dictionaries({name: keywords[name] for name in names})
    )


SCHEMAS = _schemas_of(
    st.recursive(
        st.booleans() | st.just({}) | st.builds(lambda t: {"type": t}, _TYPES), _schemas_of, max_leaves=8
    )
)
