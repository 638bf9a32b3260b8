"""Compiles a small, safe expression language: a part of Jinja's, parsed by Jinja and evaluated by closures.

Jinja's runtime is not used. Kinds of nodes, tests and filters that this module does not list are refused. All others have a bounded cost.
There are no calls, loops, multiplications or formatting, and no access to Python attributes.
"""

from __future__ import annotations

import math
import re
from typing import Any, NoReturn

from jinja2 import Environment, TemplateSyntaxError, nodes
from jinja2.parser import Parser

from tenax.model.json_text import LARGEST_INTEGER, SMALLEST_INTEGER
from tenax.model.source.findings import suggest_or_list
from tenax.policy.expressions.closures import (
    Compute,
    Scope,
    access_path,
    application,
    binary,
    chained,
    choice,
    concatenation,
    negation,
    or_none,
    present,
)
from tenax.policy.expressions.comparisons import CHEAP_COMPARISONS, COMPARISONS
from tenax.policy.expressions.meter import CURRENT, VISIT, Meter
from tenax.policy.expressions.values import (
    CHARGING,
    FILTERS,
    OPERATORS,
    TESTS,
    EvaluationError,
    Function,
    Missing,
    check_size,
    lookup,
    negate,
    shown_key,
)

__all__ = ["EvaluationError", "Expression", "ExpressionError", "compile_expression"]

TEXT_LENGTH = 4000  # characters of an expression
NESTING = 40
"""Brackets within brackets."""
DEPTH = 120
"""Depth of the parsed tree. A chain of 100 `or` is as deep as it is long."""
NODES = 1000  # nodes of a parsed expression

_ENVIRONMENT = Environment(autoescape=False)  # noqa: S701 - it only parses; nothing is rendered by it
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_TEST_NAMES = {
    "==": "eq",
    "equalto": "eq",
    "!=": "ne",
    "<": "lt",
    "lessthan": "lt",
    "<=": "le",
    ">": "gt",
    "greaterthan": "gt",
    ">=": "ge",
}
_REFUSED = {
    "Call": "calls are not allowed",
    "Mul": "multiplication is not allowed",
    "Pow": "powers are not allowed",
    "Mod": "`%` is not allowed",
    "Slice": "slices are not allowed",
}


class ExpressionError(ValueError):
    """Says why an expression is not accepted. The message is for its author."""


class Expression:
    """Is a compiled expression. `reads` are the paths that it reads, as far as the expression spells them out."""

    __slots__ = ("_builds", "_charges", "_compute", "_cost", "reads", "text")

    def __init__(self, text: str, compute: Compute, compiler: _Compiler) -> None:
        self.text = text
        self.reads = frozenset(compiler.reads)
        self._compute = compute
        self._builds = compiler.builds
        self._charges = compiler.charges
        self._cost = VISIT * compiler.nodes

    def evaluate(self, scope: Scope, meter: Meter | None = None) -> Any:
        """Returns the value. Raises only EvaluationError. `meter` is the budget; by default the current one."""
        before = CURRENT.meter
        meter = meter or before or Meter()
        if self._charges:
            CURRENT.meter = meter
        try:
            meter.spend(self._cost)
            value = self._compute(scope)
            if self._builds:
                check_size(value)
        except EvaluationError:
            raise
        except RecursionError:
            raise EvaluationError("the values are nested too deeply") from None
        except (TypeError, ValueError, ArithmeticError) as error:  # Python's own limits: a very long integer
            raise EvaluationError(str(error)) from None
        finally:
            if self._charges:
                CURRENT.meter = before
        return value

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"


def compile_expression(
    text: str, *, variables: frozenset[str], strict: bool = False, elsewhere: frozenset[str] = frozenset()
) -> Expression:
    """Checks and compiles an expression. With `strict`, a missing value is an error and not None. `elsewhere` are variables
    that may only stand alone. A message about an unknown variable names them too."""
    compiler = _Compiler(variables, elsewhere, strict=strict)
    compute = compiler.value(_parse(text))
    return Expression(text.strip(), compute, compiler)


def _parse(text: str) -> nodes.Expr:
    if len(text) > TEXT_LENGTH:
        raise ExpressionError(f"the expression has {len(text):,} characters; {TEXT_LENGTH:,} are allowed")
    if not text.strip():
        raise ExpressionError("the expression is empty")
    _check_nesting(text)
    try:
        parser = Parser(_ENVIRONMENT, text, state="variable")
        tree = parser.parse_expression()
    except TemplateSyntaxError as error:
        raise ExpressionError(f"not an expression: {error.message}") from None
    except RecursionError:
        raise ExpressionError("the expression is nested too deeply") from None
    except (
        ValueError
    ) as error:  # Python's own limits: an integer of thousands of digits, a broken \N{...} escape
        raise ExpressionError(f"not an expression: {error}") from None
    if not parser.stream.eos:
        raise ExpressionError(
            f"not one expression: unexpected {str(parser.stream.current.value)[:40]!r} after it"
        )
    return tree


def _check_nesting(text: str) -> None:
    """Checks the nesting before parsing, because the parser recurses with every bracket."""
    depth = 0
    for char in _QUOTED.sub("", text):
        if char in "([{":
            depth += 1
            if depth > NESTING:
                raise ExpressionError(f"brackets are nested more than {NESTING} deep")
        elif char in ")]}":
            depth -= 1


class _Compiler:
    """Compiles a tree in one pass: refuses unlisted nodes, and turns the others into closures."""

    def __init__(self, variables: frozenset[str], elsewhere: frozenset[str], *, strict: bool) -> None:
        self.variables = variables
        self.elsewhere = elsewhere
        self.strict = strict
        self.reads: set[tuple[str, ...]] = set()
        self.builds = False
        """True if a list or mapping is built from values, so that the result may be larger than its parts."""
        self.charges = False
        """True if the cost depends on the data. The functions then charge the meter."""
        self.nodes = 0
        self._depth = 0

    def value(self, node: nodes.Node) -> Compute:
        """Returns the closure of a node. In it a missing value is an error (strict) or None."""
        access = self.access(node)
        if not isinstance(node, nodes.Name | nodes.Getattr | nodes.Getitem):
            return access
        return present(access) if self.strict else or_none(access)

    def access(self, node: nodes.Node) -> Compute:
        """Returns the closure of a node. An access in it that finds nothing gives `Missing`."""
        self.nodes += 1
        self._depth += 1
        if self.nodes > NODES or self._depth > DEPTH:
            raise ExpressionError("the expression is too long or nested too deeply; split it up")
        compute = self._dispatch(node)
        self._depth -= 1
        return compute

    def _dispatch(self, node: nodes.Node) -> Compute:  # noqa: C901 - one arm for each kind of node
        match node:
            case nodes.Const():
                return self._constant(node.value)
            case nodes.Name():
                return self._name(node)
            case nodes.Getattr() | nodes.Getitem():
                return self._chain(node)
            case nodes.And() | nodes.Or():
                return self._logic(node)
            case nodes.Not():
                return negation(self.value(node.node))
            case nodes.Compare():
                return self._comparison(node)
            case nodes.CondExpr():
                return self._choice(node)
            case nodes.Test() | nodes.Filter():
                return self._function(node)
            case nodes.Add() | nodes.Sub() | nodes.Div() | nodes.FloorDiv():
                self.charges = self.charges or isinstance(node, nodes.Add)
                return binary(OPERATORS[type(node).__name__], self.value(node.left), self.value(node.right))
            case nodes.Neg() | nodes.Pos():
                return self._sign(node)
            case nodes.Concat():
                self.charges = True
                return concatenation([self.value(part) for part in node.nodes])
            case nodes.List() | nodes.Tuple():
                return self._list(node)
            case nodes.Dict():
                return self._mapping(node)
            case _:
                name = type(node).__name__
                raise ExpressionError(f"{_REFUSED.get(name, f'{name} is not allowed')} in an expression")

    def _constant(self, value: Any) -> Compute:
        if isinstance(value, float) and not math.isfinite(value):
            raise ExpressionError("the number is too large")
        if isinstance(value, int) and not SMALLEST_INTEGER <= value <= LARGEST_INTEGER:
            raise ExpressionError("the number is beyond 64 bits")
        if isinstance(value, str) and _UNSTORABLE.search(value):
            raise ExpressionError(
                "the text holds a character that cannot be stored (NUL, or half a surrogate pair)"
            )
        return lambda _: value

    def _name(self, node: nodes.Name) -> Compute:
        self.reads.add((node.name,))
        return self._variable(node.name)

    def _variable(self, name: str) -> Compute:
        if name not in self.variables:
            self._unknown("variable", name, self.variables | self.elsewhere)
        missing = Missing(name)
        return lambda scope: scope.get(name, missing)

    def _chain(self, node: nodes.Getattr | nodes.Getitem) -> Compute:
        """Compiles `a.b['c'][0]` to one loop over its keys, if all of them are spelled out."""
        keys: list[str | int] = []
        inner: nodes.Node = node
        while isinstance(inner, nodes.Getattr | nodes.Getitem) and (key := _static_key(inner)) is not None:
            keys.insert(0, key)
            inner = inner.node
        if len(keys) > DEPTH:
            raise ExpressionError("the path is too long")
        if not keys:
            assert isinstance(node, nodes.Getitem)
            return self._dynamic_item(node)
        if isinstance(inner, nodes.Name):
            start = self._variable(inner.name)
            self._record(inner.name, keys)
        else:
            start = self.access(inner)
        return access_path(start, keys, _shown_path(inner, keys))

    def _dynamic_item(self, node: nodes.Getitem) -> Compute:
        container, key = self.access(node.node), self.value(node.arg)
        return lambda scope: lookup(container(scope), found := key(scope), f"[{shown_key(found)}]")

    def _record(self, name: str, keys: list[str | int]) -> None:
        known: list[str] = [name]
        for key in keys:
            if isinstance(key, int):
                break
            known.append(key)
        self.reads.add(tuple(known))

    def _logic(self, node: nodes.And | nodes.Or) -> Compute:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node, nodes.And):
            return lambda scope: left(scope) and right(scope)
        return lambda scope: left(scope) or right(scope)

    def _comparison(self, node: nodes.Compare) -> Compute:
        first = self.value(node.expr)
        cheap = _is_cheap(node)
        self.charges = self.charges or not cheap
        known = CHEAP_COMPARISONS if cheap else COMPARISONS
        rest = [(known[operand.op], self.value(operand.expr)) for operand in node.ops]
        if len(rest) == 1:
            return binary(rest[0][0], first, rest[0][1])
        return chained(first, rest)

    def _choice(self, node: nodes.CondExpr) -> Compute:
        test, yes = self.value(node.test), self.value(node.expr1)
        no: Compute = self.value(node.expr2) if node.expr2 is not None else lambda _: None
        return choice(test, yes, no)

    def _function(self, node: nodes.Test | nodes.Filter) -> Compute:
        known, sort = (TESTS, "test") if isinstance(node, nodes.Test) else (FILTERS, "filter")
        name = _TEST_NAMES.get(node.name, node.name) if sort == "test" else node.name
        if name not in known:
            self._unknown(sort, name, frozenset(known))
        function = known[name]
        self.charges = self.charges or name in CHARGING
        if node.node is None:
            raise ExpressionError(f"the filter `{name}` needs a value before it")
        arguments = [self.value(argument) for argument in _arguments(node, name, function)]
        subject = self.access(node.node) if function.sees_missing else self.value(node.node)
        return application(function.compute, subject, arguments)

    def _sign(self, node: nodes.Neg | nodes.Pos) -> Compute:
        operand = self.value(node.node)
        if isinstance(node, nodes.Neg):
            return lambda scope: negate(operand(scope))
        return lambda scope: negate(negate(operand(scope)))

    def _list(self, node: nodes.List | nodes.Tuple) -> Compute:
        items = [self.value(item) for item in node.items]
        if _is_spelled_out(node):
            constant = [item({}) for item in items]
            return lambda _: constant
        self.builds = self.charges = True
        return lambda scope: [item(scope) for item in items]

    def _mapping(self, node: nodes.Dict) -> Compute:
        pairs = []
        for pair in node.items:
            if not isinstance(pair.key, nodes.Const) or not isinstance(pair.key.value, str):
                raise ExpressionError("the keys of a mapping must be texts in quotes")
            pairs.append((pair.key.value, self.value(pair.value)))
        self.builds = self.charges = True
        return lambda scope: {key: value(scope) for key, value in pairs}

    def _unknown(self, sort: str, name: str, known: frozenset[str]) -> NoReturn:
        raise ExpressionError(f"unknown {sort} `{name[:100]}`{suggest_or_list(name, sorted(known))}")


def _is_cheap(node: nodes.Compare) -> bool:
    """Returns whether a comparison is short for any data, because the expression gives one side."""
    if len(node.ops) > 1:
        return False
    [operand] = node.ops
    if operand.op in ("in", "notin"):
        return isinstance(operand.expr, nodes.List | nodes.Tuple) and _is_spelled_out(operand.expr)
    return isinstance(node.expr, nodes.Const) or isinstance(operand.expr, nodes.Const)


def _is_spelled_out(node: nodes.List | nodes.Tuple) -> bool:
    return all(isinstance(item, nodes.Const) for item in node.items)


def _static_key(node: nodes.Getattr | nodes.Getitem) -> str | int | None:
    """Returns the key if it is spelled out, or None if it must be computed."""
    if isinstance(node, nodes.Getattr):
        key: Any = node.attr
    elif isinstance(node.arg, nodes.Const):
        key = node.arg.value
    elif isinstance(node.arg, nodes.Neg) and isinstance(node.arg.node, nodes.Const):
        key = -node.arg.node.value if type(node.arg.node.value) is int else None
    else:
        return None
    if isinstance(key, bool) or not isinstance(key, str | int):
        raise ExpressionError("a key must be a text or a whole number")
    if isinstance(key, str) and key.startswith("__"):
        raise ExpressionError(f"`{key[:100]}` is not allowed: names that begin with __ are no data")
    return key


def _arguments(node: nodes.Test | nodes.Filter, name: str, function: Function) -> list[nodes.Node]:
    """Returns the arguments in the order of the function's parameters."""
    if node.dyn_args is not None or node.dyn_kwargs is not None:
        raise ExpressionError(f"`{name}` takes no * or ** arguments")
    given: list[nodes.Node] = list(node.args)
    for keyword in node.kwargs:
        position = function.parameters.index(keyword.key) if keyword.key in function.parameters else -1
        if position != len(given):
            raise ExpressionError(f"`{name}` takes ({', '.join(function.parameters)}), in this order")
        given.append(keyword.value)
    if not function.required <= len(given) <= len(function.parameters):
        raise ExpressionError(
            f"`{name}` takes {len(function.parameters)} arguments at most, not {len(given)}"
        )
    return given


def _shown_path(inner: nodes.Node, keys: list[str | int]) -> str:
    start = inner.name if isinstance(inner, nodes.Name) else "(...)"
    return start + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
