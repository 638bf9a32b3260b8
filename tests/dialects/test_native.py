"""Checks the parts that all systems share: YAML that reads back the same, templates, and ways between steps."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.recorded.dialect_samples import HERE

from tenax.dialects.argo.tags import Scope
from tenax.dialects.native.templates import literal_text, rewrite_expression
from tenax.dialects.native.workflow import NativeWorkflow
from tenax.dialects.reading.notes import Notes
from tenax.dialects.stepfunctions.data import INPUT, Document, keys_of
from tenax.dialects.translate import translate_text
from tenax.model.source.yaml_source import read_documents, read_source
from tenax.model.source.yaml_text import yaml_text
from tenax.policy.expressions.templates import compile_template

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30) | st.sampled_from(
    ["", "yes", "null", "012", "1e5", "~", "a: b", "- a", "a\nb\n", "a\n\n", " a\nb", "\tx", "{{ a }}", "#", "x\r\ny", "'", '"', "\u2028"]
)  # fmt: skip
PLAIN = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS  # fmt: skip
KEYS = TEXTS.filter(lambda text: text not in ("", "<<"))
DATA = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=12
)


@given(st.dictionaries(KEYS, DATA, min_size=1, max_size=4))
def test_yaml_reads_back_as_the_same_data(data: dict[str, Any]):
    source = read_source(yaml_text(data))
    assert source.findings == []
    assert source.data == data


@given(TEXTS)
def test_a_literal_text_renders_as_itself(text: str):
    assert compile_template(literal_text(text), variables=frozenset()).render({}).value == text


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a.b", "X.b"),
        ("'a.b' ~ a", "'a.b' ~ X"),
        ("x | default(a.c)", "x | default(X.c)"),
        ("a['k'].z[0] > 1 and not a", "X.k.z.0 > 1 and not X"),
        ("b.a", "b.a"),
        ("value is defined", "value is defined"),
    ],
)
def test_only_names_of_variables_are_rewritten(expression: str, expected: str):
    def rewrite(parts: tuple[str, ...]) -> str | None:
        return ".".join(("X", *parts[1:])) if parts[0] == "a" else None

    assert rewrite_expression(expression, rewrite) == expected


def empty_workflow() -> NativeWorkflow:
    return NativeWorkflow("w", Notes(read_source("a: 1")))


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("{{steps.flip.outputs.result}} == heads", "steps.flip.result == 'heads'"),
        ("'{{inputs.parameters.x}}' != \"no\" && 3 > 2", "input.x != 'no' and 3 > 2"),
        ("({{item}} == 1 || {{item.ok}} == true)", "( item == 1 or item.ok == true )"),
        ("{{tasks.a-b.status}} == Succeeded", "steps['a-b'].status == 'completed'"),
    ],
)
def test_conditions_of_argo(when: str, expected: str):
    assert Scope(empty_workflow()).condition(when, ()) == expected


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("$", ()),
        ("$.a.b", ("a", "b")),
        ("$['a b'][0].c", ("a b", "0", "c")),
        ("$..a", None),
        ("$.a[?(@.x)]", None),
        ("a.b", None),
    ],
)
def test_paths_of_step_functions(path: str, keys: tuple[str, ...] | None):
    assert keys_of(path) == keys


def test_a_result_that_is_put_into_a_document_is_found_there():
    workflow = empty_workflow()
    document = Document(INPUT).with_part(("order", "receipt"), Document("steps.pay.result"))
    assert document.at(("order", "receipt", "id"), workflow) == "steps.pay.result.id"
    assert document.at(("customer", "name"), workflow) == "input.customer.name"
    assert document.at(("order", "other"), workflow) is None
    assert workflow.inputs == {"customer": {"required": True}}


def test_a_step_after_one_that_may_not_run_asks_for_its_state():
    text = (HERE / "samples/attune/07-branches.yaml").read_text()
    [made] = translate_text(text).workflows
    steps = {step["step"]: step for step in read_source(made.text).data["workflow"]}
    assert steps["register"]["needs"] == ["check", "test"]
    assert steps["register"]["when"] == (
        "(steps.check.status == 'completed' and (input.fast)) or (steps.test.status == 'completed')"
    )
    assert (
        steps["give_up"]["when"] == "(steps.download.status == 'failed') or (steps.check.status == 'failed')"
    )
    assert steps["download"]["on_failure"] == "continue"


def test_the_limits_of_yaml_hold_for_all_documents_together():
    one = "a: [" + ", ".join("x" for _ in range(300_000)) + "]\n"
    assert len(read_documents(one)) == 1
    with pytest.raises(Exception, match="values once aliases are expanded"):
        read_documents(f"{one}---\n{one}")
