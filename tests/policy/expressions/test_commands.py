"""The command of a process step as a text for the shell: each template is one quoted word."""

from __future__ import annotations

import textwrap

import pytest

from tenax.errors import InvalidDefinition
from tenax.model.definition.workflow import Workflow
from tenax.model.parse.parse import parse_workflow
from tenax.policy.check import load_workflow
from tenax.policy.expressions.templates import TEMPLATE_VARIABLES, compile_template
from tenax.policy.expressions.values import EvaluationError
from tenax.policy.plan import make_plan

SCOPE = {
    "input": {
        "who": "x; touch hit",
        "quote": "it's",
        "n": 3,
        "none": None,
        "rows": [1, {"a": "b c"}],
        "argv": ["ls", "-l", 5, "a b", {"k": 1}],
        "flags": "-l -a",
        "safe": "abc",
    }
}


def command(text):
    return compile_template({"command": text, "cwd": "{{ input.who }}"}, variables=TEMPLATE_VARIABLES, shell_at=("command",))  # fmt: skip


def rendered(text):
    value = command(text).render(SCOPE).value
    assert value["cwd"] == "x; touch hit", "no other key goes to the shell"
    return value["command"]


@pytest.mark.parametrize(
    ("text", "shell_text"),
    [
        ("echo {{ input.who }}", "echo 'x; touch hit'"),
        ("echo {{ input.quote }}", "echo 'it'\"'\"'s'"),
        ("echo {{ input.n }} {{ input.safe }}", "echo 3 abc"),
        ("echo {{ input.none }}", "echo ''"),
        ("echo {{ input.rows }}", 'echo \'[1, {"a": "b c"}]\''),
        ("echo --x={{ input.who }}.txt", "echo --x='x; touch hit'.txt"),
        ("ls {{ input.flags | raw }} {{ input.flags }}", "ls -l -a '-l -a'"),
        ("ls '{{ input.flags|raw }}'", "ls '-l -a'"),
        ("{{ input.flags | raw }}", "-l -a"),
        ("{{ input.n | raw }}", "3"),
        ("{{ input.flags ~ ' -x' | raw }}", "-l -a -x"),
        ("docker ps --format '{{ '{{' }}.Names{{ '}}' }}'", "docker ps --format '{{.Names}}'"),
        ("echo {{ 'a b' }}", "echo 'a b'"),
        ("echo {{ input.n }}>out", "echo '3'>out"),
        ("echo $X{{ input.safe }}", "echo $X'abc'"),
        ("plain text", "plain text"),
    ],
)
def test_each_template_is_one_word(text, shell_text):
    assert rendered(text) == shell_text


def test_a_single_template_gives_the_list_of_arguments():
    assert rendered("{{ input.argv }}") == ["ls", "-l", "5", "a b", '{"k": 1}']
    assert rendered(" {{ input.argv }}\n") == ["ls", "-l", "5", "a b", '{"k": 1}']


@pytest.mark.parametrize("text", ["{{ input.flags }}", "{{ input.n }}", "{{ input.none }}", "{{ 'ls' }}"])
def test_a_single_template_that_gives_none_is_an_error(text):
    with pytest.raises(EvaluationError, match=r"^command: the command is one single template.*\| raw"):
        rendered(text)


def test_a_list_of_arguments_needs_no_quotes():
    value = command(["echo", "{{ input.who }}", "'{{ input.quote }}'"]).render(SCOPE).value
    assert value["command"] == ["echo", "x; touch hit", "'it's'"]


def test_secrets_are_words_for_the_worker():
    made = command("login {{ input.who }} {{ secret.PW }} {{ secret.ARGS | raw }}").render(SCOPE)
    assert made.value["command"] is None
    [(path, parts)] = made.secrets
    assert path == ("command",)
    assert parts == (
        "login ",
        "'x; touch hit'",
        " ",
        {"secret": "PW", "quote": "word"},
        " ",
        {"secret": "ARGS"},
    )


def findings_of(steps: str) -> list[str]:
    source = f"name: w\ninput: {{who: {{type: string}}}}\nworkflow:\n{textwrap.indent(textwrap.dedent(steps), '  ')}"
    with pytest.raises(InvalidDefinition) as refused:
        load_workflow(source)
    return [str(finding) for finding in refused.value.findings]


QUOTED = """echo "hello {{ input.who }}" """


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('echo "{{ input.who }}"', "inside double quotes"),
        ("echo '{{ input.who }}'", "inside single quotes"),
        ("echo `echo {{ input.who }}`", "inside backquotes"),
        ("cat <<EOF\n{{ input.who }}\nEOF\n", "in a here-document"),
        ("login '{{ secret.PW }}'", "inside single quotes"),
        ("echo ${{ input.who }}", "right after a $"),
        ("# {{ input.who }}\nls", "in a comment"),
    ],
)
@pytest.mark.parametrize("where", ["step", "compensate", "vary"])
def test_a_template_in_quotes_is_refused_at_load(text, place, where):
    shown = f"command: {yaml_text(text)}"
    step = {
        "step": f"- {{step: a, type: process, {shown}}}\n",
        "compensate": f"- {{step: a, type: process, command: ls, compensate: {{type: process, {shown}}}}}\n",
        "vary": f"- {{step: a, type: process, command: ls, retry: {{max_attempts: 2, vary: [{{{shown}}}]}}}}\n",
    }[where]
    [found] = findings_of(step)
    assert (
        f"a template cannot stand {place}: its value is quoted already, as one word of the shell; " in found
    )
    assert "drop the quotes, pass it by `env`, write the command as a list, or end it in `| raw`" in found
    assert "command" in found


def yaml_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def test_a_single_secret_is_refused_at_load():
    [found] = findings_of('- {step: a, type: process, command: "{{ secret.CMD }}"}\n')
    assert "one single template" in found


@pytest.mark.parametrize("step", ['{step: a, type: http, url: "{{ input.who | raw }}"}', '{step: a, type: process, command: [echo, "{{ input.who | raw }}"]}'])  # fmt: skip
def test_raw_has_no_meaning_where_nothing_is_quoted(step):
    [found] = findings_of(f"- {step}\n")
    assert "`raw` is only for the command of a process step" in found


def test_what_stands_inside_quotes_in_a_stored_definition_fails_its_attempt():
    """An earlier version accepted such a definition. It still loads, but nothing of it is run unquoted."""
    source = "name: w\nworkflow: [{step: s, type: process, command: 'ls'}]\n"
    body = parse_workflow(source).as_dict()
    body["steps"][0]["spec"]["command"] = QUOTED
    plan = make_plan(Workflow.from_dict(body), None)
    [template] = plan.steps["s"].specs
    with pytest.raises(EvaluationError, match="command: a template cannot stand inside double quotes"):
        template.render(SCOPE)
