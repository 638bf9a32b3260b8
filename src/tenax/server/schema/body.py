"""Reads the body of a request as the type of its endpoint. Refuses a body that does not fit, and says where it is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import msgspec
from pydantic_core import from_json
from starlette.requests import ClientDisconnect, Request

from tenax.model.source.findings import suggest
from tenax.server.problems import InvalidRequest, UnsupportedBody
from tenax.server.services import engine

T = TypeVar("T")

DEEPEST_JSON = 200
"""The deepest nesting of the JSON of a body, in levels. Pydantic's reader enforces this limit, and the number is its constant."""
_UNKNOWN_FIELD = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_KEY_OF = "key` in `"


class Misfit(ValueError):
    """Says that the endpoint refuses a value which its type allows, and where in the body the value is."""

    def __init__(self, message: str, *place: str | int) -> None:
        super().__init__(message)
        self.place = place


class Body(Generic[T]):
    """Describes the body of a request: its type, and the checks that its endpoint makes beyond the type.

    `fit` returns the value in the form that the endpoint needs, or raises `Misfit`. `mend` may change a body that was
    refused. It returns whether the changed body should be read again.
    """

    def __init__(
        self,
        type_: type[T],
        fit: Callable[[T], T] | None = None,
        *,
        mend: Callable[[Any, InvalidRequest], bool] | None = None,
    ) -> None:
        self.type: Any = type_
        self._decode: Callable[[bytes], T] = msgspec.json.Decoder(type_).decode
        self._fit = fit
        self._mend = mend

    def read(self, body: bytes) -> T:
        try:
            if body.count(b"[") + body.count(b"{") > DEEPEST_JSON:
                from_json(body)
            value = self._decode(body)
        except (msgspec.MsgspecError, ValueError):
            value = self._read_slowly(body)
        if self._fit is None:
            return value
        try:
            return self._fit(value)
        except Misfit as error:
            raise InvalidRequest("the body", [{"loc": error.place, "msg": str(error)}]) from None

    def _read_slowly(self, body: bytes) -> T:
        """Reads a body that the fast reader refuses. It accepts NaN and numbers beyond a float, because results are checked later."""
        try:
            raw = from_json(body)
        except ValueError as error:
            raise InvalidRequest("the body", [{"loc": (), "msg": f"Invalid JSON: {error}"}]) from None
        try:
            return self._converted(raw)
        except InvalidRequest as error:
            if self._mend is None or not self._mend(raw, error):
                raise
            return self._converted(raw)

    def _converted(self, raw: Any) -> T:
        try:
            value: T = msgspec.convert(raw, self.type)
        except msgspec.ValidationError as error:
            place, message = self._explained(raw, str(error))
            raise InvalidRequest("the body", [{"loc": place, "msg": message}]) from None
        return value

    def _explained(self, raw: Any, error: str) -> tuple[tuple[str | int, ...], str]:
        """Returns the place and the message of an error of msgspec, such as `Expected int, got str - at $.runtimes[0]`."""
        message, _, where = error.partition(" - at `")
        place = where.removesuffix("`").removeprefix(_KEY_OF).removeprefix("$")
        if (unknown := _UNKNOWN_FIELD.fullmatch(message)) is not None:
            place = f"{place}.{unknown[1]}"
            message = f"there is no such field{suggest(unknown[1], self._fields())}"
        message = message.replace("<=", "at most").replace(">=", "at least")
        if "[...]" in place:
            place = self._with_key(raw, place, error)
        return tuple(part.strip(".") for part in [place] if part), message

    def _fields(self) -> list[str]:
        """Returns the names of all fields in the body."""
        _, components = msgspec.json.schema_components([self.type])
        return sorted({name for one in components.values() for name in one.get("properties", ())})

    def _with_key(self, raw: Any, place: str, error: str) -> str:
        """Names the key of the entry that is wrong. The error of msgspec only says that one of the entries is.

        Each round halves the entries that remain, so a large table needs few rounds.
        """
        before, _, after = place.partition("[...]")
        table = _at(raw, before)
        entries = list(table.items())
        while len(entries) > 1:
            half = entries[: len(entries) // 2]
            table.clear()
            table.update(half)
            entries = half if self._fails_by(raw, error) else entries[len(half) :]
        return f"{before}.{entries[0][0]}{after}"

    def _fails_by(self, raw: Any, error: str) -> bool:
        try:
            msgspec.convert(raw, self.type)
        except msgspec.ValidationError as again:
            return str(again) == error
        return False


def _at(value: Any, place: str) -> Any:
    for part in _parts(place):
        value = value[part]
    return value


def _parts(place: str) -> Iterator[str | int]:
    for name, index in re.findall(r"\.([^.\[]+)|\[(\d+)\]", place):
        yield name or int(index)


async def read_body(request: Request, body: Body[T], *, empty: bytes | None = None) -> T:
    """Reads the body as its type. `empty` is the body to assume if none was sent. Without it an empty body is refused."""
    found, _ = await read_sized_body(request, body, empty=empty)
    return found


async def read_sized_body(request: Request, body: Body[T], *, empty: bytes | None = None) -> tuple[T, int]:
    """Reads a body as `read_body` does, and also returns its size in bytes."""
    sent = await _whole(request)
    if not sent and empty is not None:
        return body.read(empty), 0
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise UnsupportedBody(
            f"the body is {media_type or 'of no type'}, not application/json",
            remedy="send Content-Type: application/json",
        )
    await engine(request).context.reading.check_values(sent)
    return body.read(sent), len(sent)


async def _whole(request: Request) -> bytes:
    """Returns the whole body. It mostly arrives in one piece, which is faster to read here than by the two generators of the framework."""
    parts: list[bytes] = []
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)
