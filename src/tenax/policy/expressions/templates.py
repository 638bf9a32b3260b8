"""Compiles and renders templates: JSON values whose texts may contain `{{ expressions }}`.

A missing value is an error. The value of an expression is data and is never rendered again. Secrets are not values here: for
`{{ secret.NAME }}` the worker fills in a slot, so the server never sees, logs or stores a secret. In a text for the shell each template
becomes one quoted word (`tenax.policy.expressions.commands`).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tenax.model.wire import SecretSlot
from tenax.policy.expressions.commands import CommandPiece, Word, WordError, literal_braces, place_words
from tenax.policy.expressions.compiler import TEXT_LENGTH, Expression, ExpressionError, compile_expression
from tenax.policy.expressions.meter import CURRENT, Meter
from tenax.policy.expressions.template_data import DATA_DEPTH, copier, is_large_data
from tenax.policy.expressions.values import EvaluationError, as_text, concatenate

TEMPLATE_VARIABLES = frozenset(
    {"input", "steps", "item", "index", "previous", "result", "execution_id", "attempt", "secret"}
)
"""All variables. The sets below list those of each place, and `tenax.policy.check` checks definitions
against them."""
WHEN_VARIABLES = TEMPLATE_VARIABLES - {"secret"}
"""Variables of a step's `when` and of other expressions that the server itself evaluates."""

ONCE_VARIABLES = frozenset({"input", "steps", "execution_id"})
"""Variables where a value is computed once for a step or an execution: `when`, `for_each`, `on_failure`, `outputs`."""
SERVER_SPEC_VARIABLES = ONCE_VARIABLES | {"attempt"}
"""Variables of the keys of steps that the server carries out. No worker could fill in a secret there."""
SPEC_VARIABLES = SERVER_SPEC_VARIABLES | {"secret"}
"""Variables of the keys of a python, http, process or agent step."""
FAN_OUT_VARIABLES = frozenset({"item", "index"})
"""Further variables of the keys and the compensation of a step with `for_each`."""
POLLING_VARIABLES = frozenset({"previous"})
"""Further variables of the keys of a step with `until`."""
COMPENSATE_VARIABLES = SPEC_VARIABLES | {"result"}
UNTIL_VARIABLES = frozenset(
    {"result", "data", "status_code", "attempt", "polls", "elapsed", "execution_id", "node_id"}
)
"""Variables of the condition of `until`. It is no template, so a missing value in it is None."""
TEMPLATE_DEPTH = 100  # lists and mappings within each other in a template
SHELL_TEXT: Mapping[str, tuple[str]] = {"process": ("command",), "agent": ("command",)}
"""The keys of each type of step that go to the shell if they are texts."""

_RAW = re.compile(r"\|\s*raw\s*\Z")
_SECRET = re.compile(r"secret\.([A-Za-z_][A-Za-z0-9_]*)")
_INSIDE = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[\[({]|}}|[\])}]", re.DOTALL)

Path = tuple[str | int, ...]
Slots = list[SecretSlot]
Render = Callable[[Mapping[str, Any], Path, Slots], Any]
_Piece = str | Expression | dict[str, str]
Known = dict[str, Expression]
"""Compiled expressions by their text. They belong to one workflow, so all of them have the same variables."""


class TemplateError(ExpressionError):
    """Says why a template is not accepted, with the path of the value within it."""

    def __init__(self, message: str, path: Path = ()) -> None:
        super().__init__(message)
        self.message = message
        self.path = path


@dataclass(frozen=True, slots=True)
class Rendered:
    """Holds a rendered value, and the slots in which the worker puts secrets."""

    value: Any
    secrets: tuple[SecretSlot, ...] = ()


class Template:
    """Is a compiled template. `reads` are the paths that it reads. A static template gives the same value in every scope."""

    __slots__ = ("_always", "_render", "is_static", "reads")

    def __init__(self, render: Render, reads: frozenset[tuple[str, ...]], *, is_static: bool) -> None:
        self._render = render
        self.reads = reads
        self.is_static = is_static
        self._always: Rendered | None = None
        self._always = _shareable(self.render({})) if is_static else None

    def render(self, scope: Mapping[str, Any], meter: Meter | None = None) -> Rendered:
        """Renders the template in a scope. `meter` is the budget of all its expressions together, and
        of their output."""
        if self._always is not None:
            return self._always
        slots: Slots = []
        before = CURRENT.meter
        CURRENT.meter = meter or Meter()
        try:
            value = self._render(scope, (), slots)
        finally:
            CURRENT.meter = before
        return Rendered(value, tuple(slots))


def _shareable(rendered: Rendered) -> Rendered | None:
    """Returns the value if all callers can share it, else None. A deeper value might be changed by user code."""
    return rendered if _depth(rendered.value) <= 2 else None


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(_depth, inner), default=0)


def compile_template(
    value: Any, *, variables: frozenset[str], shell_at: Path | None = None, known: Known | None = None
) -> Template:
    """Checks and compiles a template. Raises TemplateError with the path of the value. A text at the path `shell_at`
    goes to the shell. `known` are compiled expressions; new ones are added to it."""
    compiler = _TemplateCompiler(variables, shell_at, known)
    render = compiler.compile(value, ())
    return Template(render, frozenset(compiler.reads), is_static=not compiler.dynamic)


def compile_expressions(value: Any, *, variables: frozenset[str], known: Known) -> Iterator[None]:
    """Compiles the expressions of a template one by one, and yields after each. `compile_template` then finds them in
    `known`. Errors are left to `compile_template`, which knows the path."""
    compiler = _TemplateCompiler(variables, None, known)
    todo = [value]
    while todo:
        part = todo.pop()
        if isinstance(part, Mapping):
            todo.extend(part.values())
        elif isinstance(part, list | tuple):
            todo.extend(part)
        elif isinstance(part, str) and "{{" in part:
            with contextlib.suppress(ExpressionError):
                for piece in _split(part):
                    if isinstance(piece, tuple):
                        compiler.compile_piece(_RAW.sub("", piece[0]).strip())
                        yield
        yield


def keeps_type(text: str) -> bool:
    """Returns whether a text is one single `{{ }}` with nothing around it. Only such a text may give a list or a
    mapping."""
    pieces = _split(text)
    return len(pieces) == 1 and isinstance(pieces[0], tuple)


def expressions_in(text: str) -> list[str]:
    """Returns each `{{ }}` of a text by itself. Returns none if the text cannot be cut into them."""
    with contextlib.suppress(ExpressionError):
        return [f"{{{{{piece[0]}}}}}" for piece in _split(text) if isinstance(piece, tuple)]
    return []


def command_faults(text: str, *, variables: frozenset[str]) -> list[str]:
    """Returns the faults of the templates in a text for the shell. A quoted word is not allowed everywhere."""
    compiler = _TemplateCompiler(variables, ())
    pieces = compiler.command_pieces(text, ())
    return list(dict.fromkeys(piece.fault for piece in pieces if isinstance(piece, Word) and piece.fault))


class _TemplateCompiler:
    def __init__(self, variables: frozenset[str], shell_at: Path | None, known: Known | None = None) -> None:
        self.shell_at = shell_at
        self.known = {} if known is None else known
        self.secrets_allowed = "secret" in variables
        self.variables = variables - {"secret"}
        self.reads: set[tuple[str, ...]] = set()
        self.dynamic = False

    def compile(self, value: Any, path: Path) -> Render:
        if len(path) > TEMPLATE_DEPTH:
            raise TemplateError(f"the value is nested more than {TEMPLATE_DEPTH} deep", path)
        if isinstance(value, str):
            return self._text(value, path)
        if len(path) <= DATA_DEPTH and is_large_data(value):
            copy = copier(value)
            return lambda _scope, _path, _slots: copy()
        if isinstance(value, Mapping):
            return _mapping({key: self.compile(item, (*path, key)) for key, item in value.items()})
        if isinstance(value, list | tuple):
            return _list([self.compile(item, (*path, index)) for index, item in enumerate(value)])
        return _constant(value)

    def _text(self, text: str, path: Path) -> Render:
        if "{{" not in text and "{%" not in text and "{#" not in text:
            return _constant(text)
        if path == self.shell_at:
            return self._command(text, path)
        try:
            pieces = [self._piece(piece) for piece in _split(text)]
        except ExpressionError as error:
            raise TemplateError(str(error), path) from None
        if all(isinstance(piece, str) for piece in pieces):
            return _constant(text)
        self.dynamic = True
        if any(isinstance(piece, dict) for piece in pieces):
            return _with_secrets(pieces)
        if len(pieces) == 1 and isinstance(pieces[0], Expression):
            return _single(pieces[0])
        return _joined(pieces)

    def _command(self, text: str, path: Path) -> Render:
        pieces = self.command_pieces(text, path)
        if all(isinstance(piece, str) for piece in pieces):
            return _constant("".join(piece for piece in pieces if isinstance(piece, str)))
        self.dynamic = True
        return _shell_text(pieces)

    def command_pieces(self, text: str, path: Path) -> list[CommandPiece]:
        """Cuts a text into plain pieces, words to quote, and values and secrets to insert unquoted."""
        try:
            pieces: list[CommandPiece] = []
            for piece in _split(text):
                raw = isinstance(piece, tuple) and _RAW.search(piece[0])
                compiled = self._piece((piece[0][: raw.start()],) if raw else piece)
                if isinstance(compiled, str) or raw:
                    pieces.append(compiled)
                else:
                    pieces.append(literal_braces(compiled) or Word(compiled))
        except ExpressionError as error:
            raise TemplateError(str(error), path) from None
        return place_words(pieces)

    def _piece(self, piece: str | tuple[str]) -> _Piece:
        if isinstance(piece, str):
            return piece
        text = piece[0].strip()
        if _RAW.search(text):
            raise ExpressionError("`raw` is only for the command of a process step: nothing else is quoted")
        return self.compile_piece(text)

    def compile_piece(self, text: str) -> Expression | dict[str, str]:
        if self.secrets_allowed and (secret := _SECRET.fullmatch(text)):
            self.reads.add(("secret", secret[1]))
            return {"secret": secret[1]}
        expression = self.known.get(text)
        if expression is None:
            expression = self.known[text] = self._expression(text)
        self.reads |= expression.reads
        return expression

    def _expression(self, text: str) -> Expression:
        try:
            secret = frozenset({"secret"} if self.secrets_allowed else ())
            return compile_expression(text, variables=self.variables, strict=True, elsewhere=secret)
        except ExpressionError:
            if self.secrets_allowed and re.search(r"\bsecret\b", text):
                raise ExpressionError(
                    "a secret can only stand alone, as {{ secret.NAME }}: the server never sees its value, "
                    "so it cannot take part in an expression"
                ) from None
            raise


def _split(text: str) -> list[str | tuple[str]]:
    """Cuts a text into plain pieces, and tuples with one expression each."""
    pieces: list[str | tuple[str]] = []
    position = 0
    while (start := text.find("{{", position)) >= 0:
        _refuse_statements(text[position:start])
        if start > position:
            pieces.append(text[position:start])
        end = _closing(text, start + 2)
        inner = text[start + 2 : end]
        pieces.append((inner[inner.startswith("-") : len(inner) - inner.endswith("-")],))
        position = end + 2
    _refuse_statements(text[position:])
    if position < len(text):
        pieces.append(text[position:])
    return pieces


def _refuse_statements(text: str) -> None:
    for mark, name in (("{%", "statements"), ("{#", "comments")):
        if mark in text:
            raise ExpressionError(
                f"{name} ({mark} ... ) are not supported in templates; for literal braces write {{{{ '{mark}' }}}}"
            )


def _closing(text: str, start: int) -> int:
    """Returns the position of the `}}` that ends an expression, which is not within quotes, nor the end of a mapping
    within a mapping."""
    depth = 0
    position = start
    while (found := _INSIDE.search(text, position, start + TEXT_LENGTH + 2)) is not None:
        bracket = found[0]
        if bracket == "}}" and depth == 0:
            return found.start()
        position = found.end()
        if bracket in "([{":
            depth += 1
        elif bracket == "}}":  # two brackets that close, or one: they are examined one by one
            depth -= 1
            position = found.start() + 1
        elif bracket in ")]}":
            depth -= 1
    if len(text) - start > TEXT_LENGTH:
        raise ExpressionError(f"no closing }}}} within {TEXT_LENGTH:,} characters of an opening {{{{")
    raise ExpressionError("an opening {{ has no closing }}; for literal braces write {{ '{{' }}")


def _constant(value: Any) -> Render:
    return lambda _scope, _path, _slots: value


def _mapping(items: dict[Any, Render]) -> Render:
    def render(scope: Mapping[str, Any], path: Path, slots: Slots) -> dict[Any, Any]:
        return {key: item(scope, (*path, key), slots) for key, item in items.items()}

    return render


def _list(items: list[Render]) -> Render:
    def render(scope: Mapping[str, Any], path: Path, slots: Slots) -> list[Any]:
        return [item(scope, (*path, index), slots) for index, item in enumerate(items)]

    return render


def _single(expression: Expression) -> Render:
    """Returns a renderer of one single `{{ }}`, which keeps the type of its value."""
    return lambda scope, path, _slots: _evaluate(expression, scope, path)


def _joined(pieces: list[_Piece]) -> Render:
    def render(scope: Mapping[str, Any], path: Path, _slots: Slots) -> str:
        return _concatenate([_value(piece, scope, path) for piece in pieces], path)

    return render


def _with_secrets(pieces: list[_Piece]) -> Render:
    def render(scope: Mapping[str, Any], path: Path, slots: Slots) -> None:
        parts = [
            piece if isinstance(piece, dict) else as_text(_value(piece, scope, path)) for piece in pieces
        ]
        slots.append((path, tuple(parts)))

    return render


def _shell_text(pieces: list[CommandPiece]) -> Render:
    """Returns a renderer of a text for the shell, or of the list that a command of one single template gives."""

    def render(scope: Mapping[str, Any], path: Path, slots: Slots) -> Any:
        try:
            parts = [_part(piece, scope, path) for piece in pieces]
        except WordError as error:
            raise EvaluationError(f"{_shown(path)}{error}") from None
        if len(parts) == 1 and isinstance(parts[0], list):
            return parts[0]
        if any(isinstance(part, dict) for part in parts):
            slots.append((path, tuple(parts)))
            return None
        return _concatenate(parts, path)

    return render


def _part(piece: CommandPiece, scope: Mapping[str, Any], path: Path) -> Any:
    if isinstance(piece, Word):
        if isinstance(piece.content, dict):
            return piece.secret()
        return piece.rendered(_evaluate(piece.content, scope, path))
    return as_text(_evaluate(piece, scope, path)) if isinstance(piece, Expression) else piece


def _value(piece: _Piece, scope: Mapping[str, Any], path: Path) -> Any:
    return _evaluate(piece, scope, path) if isinstance(piece, Expression) else piece


def _evaluate(expression: Expression, scope: Mapping[str, Any], path: Path) -> Any:
    """Returns the value of an expression, charged to the output of the rendering."""
    meter = CURRENT.meter
    try:
        value = expression.evaluate(scope)
        return value if meter is None else meter.give_out(value)
    except EvaluationError as error:
        raise EvaluationError(f"{_shown(path)}{{{{ {expression.text:.200} }}}}: {error}") from None


def _concatenate(parts: list[Any], path: Path) -> str:
    try:
        return concatenate(parts)
    except EvaluationError as error:
        raise EvaluationError(f"{_shown(path)}{error}") from None


def _shown(path: Path) -> str:
    shown = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")
    return f"{shown}: " if shown else ""
