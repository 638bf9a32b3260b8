from __future__ import annotations

import pytest

from tenax.policy.expressions.templates import TEMPLATE_VARIABLES, TemplateError, compile_template, keeps_type
from tenax.policy.expressions.values import EvaluationError

SCOPE = {
    "input": {"url": "http://x", "n": 3, "flag": True, "none": None, "evil": "{{ input.n }}"},
    "steps": {"fetch": {"result": {"rows": [1, {"a": 2}]}, "status": "completed"}},
    "execution_id": 9,
    "attempt": 1,
}


def template(value):
    return compile_template(value, variables=TEMPLATE_VARIABLES)


@pytest.mark.parametrize(
    ("value", "rendered"),
    [
        ("{{ input.n }}", 3),
        ("{{ steps.fetch.result.rows }}", [1, {"a": 2}]),
        ("{{ input.none }}", None),
        (" {{ input.n }}", " 3"),
        ("{{ input.n }}{{ input.n }}", "33"),
        ("{{ input.url }}/{{ input.n }}?f={{ input.flag }}&e={{ input.none }}", "http://x/3?f=true&e="),
        ("rows: {{ steps.fetch.result.rows }}", 'rows: [1, {"a": 2}]'),
        ("{{ input.evil }}", "{{ input.n }}"),
        ("{{ input.evil }}!", "{{ input.n }}!"),
        ("{{ '{{' }} and {{ '}}' }}", "{{ and }}"),
        ("{{ '{%' }}x", "{%x"),
        ("{{ {'a': {'b': input.n}} }}", {"a": {"b": 3}}),
        ("{{ {'a': {'b': input.n}}}}", {"a": {"b": 3}}),
        ("{{ {'a': {'b': 1}}['a']['b'] }}{{input.n}}", "13"),
        ("{{- input.n -}}", 3),
        ("{{ input.x | default('d') }}", "d"),
        ({"{{ input.n }}": ["{{ input.n }}", 1, None, True, {"k": "{{ input.flag }}"}]}, None),
        ("no braces { } }}", "no braces { } }}"),
        (5, 5),
        (None, None),
        ([], []),
    ],
)
def test_rendering(value, rendered):
    got = template(value).render(SCOPE)
    if isinstance(value, dict):
        rendered = {"{{ input.n }}": [3, 1, None, True, {"k": True}]}
    assert got.value == rendered
    assert type(got.value) is type(rendered)
    assert got.secrets == ()


def test_secrets_become_slots_and_are_never_values():
    got = template(
        {
            "headers": [{"Authorization": "Bearer {{ secret.API_KEY }} for {{ input.n }}"}],
            "key": "{{ secret.OTHER }}",
            "n": "{{ input.n }}",
        }
    ).render(SCOPE)
    assert got.value == {"headers": [{"Authorization": None}], "key": None, "n": 3}
    assert got.secrets == (
        (("headers", 0, "Authorization"), ("Bearer ", {"secret": "API_KEY"}, " for ", "3")),
        (("key",), ({"secret": "OTHER"},)),
    )


@pytest.mark.parametrize(
    "text",
    [
        "{{ secret.X ~ 'a' }}",
        "{{ secret['X'] }}",
        "{{ secret }}",
        "{{ secret.X | default('') }}",
        "{{ secret.A.B }}",
    ],
)
def test_a_secret_stands_alone(text):
    with pytest.raises(TemplateError, match="only stand alone"):
        template({"k": [text]})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{% if input.n %}x{% endif %}", "statements"),
        ("{{ input.n }} {% raw %}", "statements"),
        ("{# hidden #}", "comments"),
        ("{{ input.n", "no closing"),
        ("{{ 'a }}", "not an expression|no closing"),
        ("{{ inptu.n }}", "did you mean `input`"),
        ("{{ input.n() }}", "calls are not allowed"),
        ("{{ status_code }}", "unknown variable"),
        ("{{ " + "x" * 10_000, "no closing"),
        ("{{ " * 100_000, "no closing"),
    ],
)
def test_refused_at_load_with_the_path(text, says):
    with pytest.raises(TemplateError, match=says) as caught:
        template({"a": [0, text]})
    assert caught.value.path == ("a", 1)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"url": "{{ input.ulr }}"}, r"url: .*`input.ulr` is not there"),
        (
            {"body": ["x{{ steps.fetch.result.nope }}"]},
            r"body\[0\]: .*`steps.fetch.result.nope` is not there",
        ),
        ("{{ item }}", "`item` is not there"),
        ({"a": "{{ input.n / 0 }}"}, "a: .*division by zero"),
    ],
)
def test_a_typo_does_not_become_an_empty_text(value, says):
    with pytest.raises(EvaluationError, match=says):
        template(value).render(SCOPE)


def test_reads_and_static():
    compiled = template({"a": "{{ steps.fetch.result }} {{ input.n + attempt }}", "b": "plain"})
    assert compiled.reads == {("steps", "fetch", "result"), ("input", "n"), ("attempt",)}
    assert not compiled.is_static
    assert template({"a": ["plain", 1]}).is_static
    assert not template("{{ secret.X }}").is_static
    assert template({"a": "x{{ secret.X }}"}).reads == {("secret", "X")}


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("{{ x }}", True),
        ("{{- [1, 2] -}}", True),
        (" {{ x }}", False),
        ("{{ x }}{{ y }}", False),
        ("plain", False),
    ],
)
def test_only_a_single_expression_keeps_its_type(text, whole):
    assert keeps_type(text) is whole


def test_nesting_is_bounded():
    value: list = []
    for _ in range(500):
        value = [value]
    with pytest.raises(TemplateError, match="nested"):
        template(value)


def test_what_user_code_might_change_is_its_own():
    deep = template({"task": "t", "args": {"rows": [1]}})
    deep.render({}).value["args"]["rows"].append(2)
    assert deep.render({}).value == {"task": "t", "args": {"rows": [1]}}


def test_what_nobody_gets_as_it_is_is_rendered_once():
    flat = template({"task": "t", "args": {"n": 1}})
    assert flat.render({}) is flat.render({})
