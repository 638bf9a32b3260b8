"""Encodes the arguments of a call of a function, and rebuilds them by the annotations of its parameters."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from inspect import Parameter, Signature
from types import SimpleNamespace
from typing import Any, Optional, get_type_hints

from tenax.codec.decode import annotation_fault, decode
from tenax.codec.encode import encode, is_plain
from tenax.errors import InvalidValue

_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_PLAIN = (str, int, float, bool)  # types of JSON itself, of which a value need not be rebuilt
_CONTEXT = "tenax.sdk.context.TaskContext"


@dataclass(frozen=True, slots=True)
class CallSignature:
    """Holds the parameters of a function with their annotations, without the one that takes the context."""

    name: str
    """The name of the function, for errors."""
    signature: Signature
    annotations: Mapping[str, Any]
    """The annotations by which arguments are rebuilt. A parameter that takes any JSON has none."""
    context: str | None
    """The parameter that takes the context of the attempt."""
    by_name: bool
    """True if every argument can be given by its name. Otherwise the JSON of a call is a list."""
    positional: tuple[str, ...]
    """The parameters that may be given by their position, if every argument can be given by its name."""
    fewest: float
    """The number of arguments that must be given by their position if none is given by its name."""

    def encode(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any] | list[Any]:
        """Returns the arguments of a call as JSON: by name where the function allows it, else in their order.

        Raises `InvalidValue` for arguments that do not fit the function or its annotations.
        """
        if not kwargs and self.fewest <= len(args) <= len(self.positional):  # 2 us less than by `bind`
            named: Iterable[tuple[str, Any]] = zip(self.positional, args, strict=False)
            return {name: self._encoded(name, value) for name, value in named}
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise InvalidValue(f"the arguments do not fit {self.name}: {error}") from None
        if self.by_name:
            return {name: self._encoded(name, value) for name, value in bound.arguments.items()}
        if bound.kwargs:
            names = ", ".join(bound.kwargs)
            raise InvalidValue(
                f"{self.name} takes arguments by position, so these cannot be given by name: {names}"
            )
        return [self._encoded(self._name_at(place), value) for place, value in enumerate(bound.args)]

    def decode(self, positional: list[Any], keywords: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Returns the arguments rebuilt from JSON. Raises `InvalidValue` for one that does not fit."""
        if not self.annotations:
            return positional, keywords
        return (
            [self._decoded(self._name_at(place), value) for place, value in enumerate(positional)],
            {name: self._decoded(name, value) for name, value in keywords.items()},
        )

    def _encoded(self, name: str | None, value: Any) -> Any:
        if name is None or (annotation := self.annotations.get(name, Any)) is Any:
            return encode(value, what=f"the argument {name or '*args'}")
        if annotation is type(value) and is_plain(value):
            return value
        encoded = encode(value, what=f"the argument {name}")
        decode(annotation, encoded, place=name)
        return encoded

    def _decoded(self, name: str | None, value: Any) -> Any:
        if name is None or (annotation := self.annotations.get(name, Any)) is Any:
            return value
        if annotation is type(value) and annotation in _PLAIN:
            return value
        return decode(annotation, value, place=name)

    def _name_at(self, place: int) -> str | None:
        for index, parameter in enumerate(self.signature.parameters.values()):
            if parameter.kind is Parameter.VAR_POSITIONAL:
                return parameter.name
            if parameter.kind not in _POSITIONAL:
                return None
            if index == place:
                return parameter.name
        return None


def encode_call(
    function: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
) -> dict[str, Any] | list[Any]:
    """Returns the arguments of a call of `function` as JSON. Raises `InvalidValue` if they do not fit."""
    return signature_of(function).encode(args, kwargs or {})


def bind_call(function: Callable[..., Any], arguments: Any) -> tuple[list[Any], dict[str, Any]]:
    """Returns the positional and keyword arguments that the JSON of a call stands for. Raises `InvalidValue`."""
    positional, keywords = split_arguments(arguments)
    signature = signature_of(function)
    try:
        signature.signature.bind(*positional, **keywords)
    except TypeError as error:
        raise InvalidValue(f"the arguments do not fit {signature.name}: {error}") from None
    return signature.decode(positional, keywords)


def split_arguments(arguments: Any) -> tuple[list[Any], dict[str, Any]]:
    """Returns positional and keyword arguments. A list gives the former, and a mapping the latter."""
    if isinstance(arguments, dict):
        return [], dict(arguments)
    if isinstance(arguments, list):
        return arguments, {}
    if arguments is None:
        return [], {}
    raise InvalidValue(f"args must be a mapping or a list, not {type(arguments).__name__}")


@lru_cache(maxsize=1000)
def signature_of(function: Callable[..., Any]) -> CallSignature:
    """Returns the signature of a function. Raises `InvalidValue` if the values of an annotation cannot be rebuilt."""
    full = _signature(function)
    name = str(getattr(function, "__qualname__", None) or type(function).__name__)
    context = context_parameter(full)
    parameters = [one for one in full.parameters.values() if one.name != context]
    scope = _scope(function)
    annotations = {
        one.name: annotation
        for one in parameters
        if (annotation := _resolved(one.annotation, scope, one, function)) is not Any
    }
    by_name = all(one.kind in _BY_NAME for one in parameters)
    positional = [one for one in parameters if by_name and one.kind in _POSITIONAL]
    required = [one for one in parameters if one.default is Parameter.empty]
    return CallSignature(
        name=name,
        signature=full.replace(parameters=parameters),
        annotations=annotations,
        context=context,
        by_name=by_name,
        positional=tuple(one.name for one in positional),
        fewest=len(required) if by_name and required == positional[: len(required)] else math.inf,
    )


@lru_cache(maxsize=1000)
def result_annotation(function: Callable[..., Any]) -> Any:
    """Returns the annotation by which results of a function are rebuilt. Returns `Any` if it says nothing."""
    return _resolved(_signature(function).return_annotation, _scope(function), None, function)


def context_parameter(signature: Signature) -> str | None:
    """Returns the name of the parameter that takes the context: it is annotated with `TaskContext`, or named `ctx`."""
    for parameter in signature.parameters.values():
        if parameter.kind in _BY_NAME and (_is_context(parameter.annotation) or parameter.name == "ctx"):
            return parameter.name
    return None


def _is_context(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return annotation.split("|", 1)[0].strip().split(".")[-1] == "TaskContext"
    return f"{getattr(annotation, '__module__', '')}.{getattr(annotation, '__qualname__', '')}" == _CONTEXT


def _signature(function: Callable[..., Any]) -> Signature:
    """Returns the signature of the function as it is called. A decorator may have changed the arguments."""
    try:
        return inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):  # some builtins have none
        anything = [Parameter("args", Parameter.VAR_POSITIONAL), Parameter("kwargs", Parameter.VAR_KEYWORD)]
        return Signature(anything)


def _scope(function: Callable[..., Any]) -> dict[str, Any]:
    own = getattr(function, "__globals__", None)
    if isinstance(own, dict):
        return own
    return vars(sys.modules.get(getattr(function, "__module__", "") or "", object()))


def _resolved(
    annotation: Any, scope: dict[str, Any], parameter: Parameter | None, function: Callable[..., Any]
) -> Any:
    """Returns an annotation as a type, or `Any` if it says nothing."""
    if annotation is Parameter.empty or annotation is Any:
        return Any
    where = f"{function.__qualname__}: {parameter.name if parameter else 'the result'}"
    try:
        annotation = get_type_hints(
            SimpleNamespace(__annotations__={"one": annotation}), scope, include_extras=True
        )["one"]
    except Exception as error:  # an annotation is code, which may raise anything
        remedy = "import the name outside of `if TYPE_CHECKING`" if isinstance(error, NameError) else None
        raise InvalidValue(
            f"{where}: the annotation {annotation} cannot be read: {error}", remedy=remedy
        ) from error
    if annotation in (Any, object):
        return Any
    if parameter is not None and parameter.default is None:
        annotation = Optional[annotation]  # noqa: UP045 -- the value may be anything that typing takes
    if (fault := annotation_fault(annotation)) is not None:
        raise InvalidValue(f"{where}: {fault}")
    return annotation
