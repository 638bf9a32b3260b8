"""Tests that the description of the API uses the types of its bodies and answers."""

from __future__ import annotations

from inspect import cleandoc

import msgspec
import pytest

from tenax.model import execution_views, views, wire
from tenax.model.filters import views as selection_views
from tenax.model.fleet import views as fleet_views
from tenax.server.schema import requests, responses


@pytest.fixture(scope="module")
def described(standing) -> dict:
    with standing.http() as http:
        return http.get("/openapi.json").json()["components"]["schemas"]


def types_of(module, kind=msgspec.Struct) -> list[type]:
    here = [
        one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__
    ]
    return [one for one in here if issubclass(one, kind)]


VIEWS = [
    *types_of(views, views.View),
    *types_of(execution_views, views.View),
    *types_of(fleet_views, views.View),
    *types_of(selection_views, views.View),
    *types_of(responses, views.View),
]


@pytest.mark.parametrize(
    "view", [one for one in VIEWS if one is not views.View], ids=lambda one: one.__name__
)
def test_a_view_is_described_by_its_own_fields(described, view):
    schema = described[view.__name__]
    assert list(schema["properties"]) == [field.encode_name for field in msgspec.structs.fields(view)]
    assert schema.get("description") == (view.__doc__ and cleandoc(view.__doc__))


@pytest.mark.parametrize(
    "body",
    [
        *(one for one in types_of(requests, requests.PersonBody) if one is not requests.PersonBody),
        *(wire.Submission, wire.Registration, wire.LeaseRequest, wire.Reports, wire.Release, wire.Heartbeat),
        wire.EndedLife,
    ],
    ids=lambda one: one.__name__,
)
def test_a_body_is_described_by_its_own_fields(described, body):
    names = list(body.__match_args__)
    if issubclass(body, requests.PersonBody):  # fields by keyword only are not among those
        names = [field.encode_name for field in msgspec.structs.fields(body)]
    assert list(described[body.__name__]["properties"]) == names


def test_the_bounds_of_a_body_are_in_its_description(described):
    lease = described["LeaseRequest"]["properties"]
    assert (lease["slots"]["minimum"], lease["slots"]["maximum"]) == (1, 1000)
    assert lease["grant"]["format"] == "uuid"
    assert described["Submission"]["additionalProperties"] is False
