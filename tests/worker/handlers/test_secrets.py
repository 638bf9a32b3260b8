"""Tests where secrets are filled in, and that they do not come back out."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import httpx2
import pytest

from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.shell import always_quoted
from tenax.model.wire import Release
from tenax.worker.handlers.secrets import SecretMissing, Secrets

ENVIRONMENT = {
    "TENAX_SECRET_KEY": "k/1",
    "TENAX_SECRET_LONG": "k/1-and-more",
    "TENAX_SECRET_OTHER": "production",
    "TENAX_SECRET_EMPTY": "",
    "OTHER": "x",
}


def test_slots_are_filled_in_a_copy(assign):
    spec = {"headers": [{"a": None}], "url": None, "env": {"same": 1}}
    slots = (
        (("headers", 0, "a"), ("Bearer ", {"secret": "KEY"}, "!")),
        (("url",), ("http://h/?k=", {"secret": "key"})),
    )
    filled = Secrets(ENVIRONMENT).fill(assign("http", spec, secrets=slots))
    assert filled.spec == {"headers": [{"a": "Bearer k/1!"}], "url": "http://h/?k=k/1", "env": {"same": 1}}
    assert spec == {"headers": [{"a": None}], "url": None, "env": {"same": 1}}


def test_in_a_text_for_the_shell_a_secret_is_one_word(run, assign, tmp_path):
    hostile = f"it's $(touch {tmp_path}/hit); `touch {tmp_path}/hit` \"a b"
    slot = (("command",), ("printf '<%s>' ", {"secret": "PW", "quote": "word"}, " ", {"secret": "ARGS"}))
    secrets = Secrets({"TENAX_SECRET_PW": hostile, "TENAX_SECRET_ARGS": "c d"})
    filled = secrets.fill(assign("process", {"command": None}, secrets=(slot,)))
    assert run("process", filled.spec).result == f"<{hostile}><c><d>"
    assert not (tmp_path / "hit").exists()


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_shell_that_shows_what_it_runs_shows_no_secret(run, assign, shell):
    secrets = Secrets({"TENAX_SECRET_PW": "pass'word 1"})
    spec = {"command": [shell, "-xc", f"true {always_quoted(chr(39).join(('pass', 'word 1')))}; exit 7"]}
    outcome = run("process", spec)
    assert "word 1" in outcome.facts.stderr_tail
    scrubbed = secrets.scrub_outcome(outcome, assign("process", spec))
    assert "word 1" not in scrubbed.facts.stderr_tail


def test_a_missing_secret_is_named(assign):
    with pytest.raises(SecretMissing, match=r"'nope'.*TENAX_SECRET_NOPE"):
        Secrets(ENVIRONMENT).fill(assign("http", {"url": None}, secrets=((("url",), ({"secret": "nope"},)),)))


def using(assign, *names):
    """An assignment that was given these secrets."""
    return assign("http", {}, secrets=tuple((("headers", name), ({"secret": name},)) for name in names))


def test_everything_reported_is_scrubbed_the_longest_secret_first(assign):
    facts = Facts(
        message="k/1",
        stderr_tail="a k/1-and-more b",
        traceback="x=k%2F1",
        data={"k/1": ["k/1", 5]},
        exit_code=1,
        exception="production.Error",
    )
    outcome = Outcome("failed", result=("k/1", None), facts=facts)
    scrubbed = Secrets(ENVIRONMENT).scrub_outcome(outcome, using(assign, "KEY", "long"))
    assert scrubbed.result == ("[secret KEY]", None)
    assert scrubbed.facts == Facts(
        message="[secret KEY]",
        stderr_tail="a [secret LONG] b",
        traceback="x=[secret KEY]",
        data={"[secret KEY]": ["[secret KEY]", 5]},
        exit_code=1,
        exception="production.Error",
    )


@pytest.mark.parametrize(
    ("used", "result"),
    [
        ((), {"env": "production", "k/1": "k/1-and-more"}),
        (("OTHER",), {"env": "[secret OTHER]", "k/1": "k/1-and-more"}),
        (("key",), {"env": "production", "[secret KEY]": "[secret KEY]-and-more"}),
        (("KEY", "LONG"), {"env": "production", "[secret KEY]": "[secret LONG]"}),
        (("EMPTY", "NOT_SET"), {"env": "production", "k/1": "k/1-and-more"}),
    ],
)
def test_a_result_loses_only_the_secrets_that_its_attempt_was_given(assign, used, result):
    outcome = Outcome("succeeded", result={"env": "production", "k/1": "k/1-and-more"})
    assert Secrets(ENVIRONMENT).scrub_outcome(outcome, using(assign, *used)).result == result


def test_messages_lose_all_secrets_but_short_ones_only_where_they_were_used(assign):
    secrets = Secrets(ENVIRONMENT)
    outcome = Outcome("failed", facts=Facts(message="production, k/1"))
    assert secrets.scrub_outcome(outcome, using(assign)).facts.message == "[secret OTHER], k/1"
    assert (
        secrets.scrub_outcome(outcome, using(assign, "KEY")).facts.message == "[secret OTHER], [secret KEY]"
    )
    release = Release(1, 2, 3, "t", "no_handler", "nothing in production")
    assert secrets.scrub_release(release, using(assign)).detail == "nothing in [secret OTHER]"


HARD = "p@ss w~rd!/x+y^`'ä%41%{}\"\\"


@pytest.mark.parametrize(
    "written",
    [
        str(httpx2.URL("http://h/", params={"k": HARD})),
        str(httpx2.URL(f"http://h/?k={HARD}")),
        str(httpx2.URL(f"http://h/{HARD}/x")),
        str(httpx2.URL("http://h/").copy_with(username="u", password=HARD)),
        json.dumps({"k": HARD}),
        repr({"k": HARD}),
    ],
)
def test_a_secret_is_known_as_urls_json_and_python_write_it(assign, written):
    facts = Facts(message=f"cannot connect: {written}")
    message = (
        Secrets({"TENAX_SECRET_K": HARD})
        .scrub_outcome(Outcome("failed", facts=facts), using(assign))
        .facts.message
    )
    assert "[secret K]" in message
    assert "rd" not in message


def test_of_a_secret_of_several_lines_each_line_is_scrubbed(assign):
    secrets = Secrets({"TENAX_SECRET_PEM": "-----BEGIN\nMIIabcdef\nx=\n"})
    facts = Facts(message="exit code 1: MIIabcdef", stderr_tail="x=")
    scrubbed = secrets.scrub_outcome(Outcome("failed", facts=facts), using(assign)).facts
    assert (scrubbed.message, scrubbed.stderr_tail) == ("exit code 1: [secret PEM]", "x=")


def test_without_secrets_nothing_is_touched(assign):
    outcome = Outcome("succeeded", result={"a": "b"})
    assert Secrets({"HOME": "b"}).scrub_outcome(outcome, using(assign)) is outcome


def test_a_secret_of_bytes_that_are_no_text(assign):
    """As `os.environ` gives them; what is reported has them in a form that can be sent."""
    secrets = Secrets({"TENAX_SECRET_KEY": "caf\udce9-key"})
    for form in ("caf\udce9-key", "caf\\udce9-key", "caf%E9-key"):
        outcome = Outcome("failed", facts=Facts(message=f"with {form}!"))
        scrubbed = secrets.scrub_outcome(outcome, using(assign))
        assert scrubbed.facts == Facts(message="with [secret KEY]!")


@pytest.mark.parametrize("before", ["", "jo", "jo:", "user:"])
def test_a_secret_is_known_in_base64_wherever_it_stands(assign, before):
    secrets = Secrets({"TENAX_SECRET_K": "s3cret-\xff/pass?>word"})
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        encoded = encode(f"{before}s3cret-\xff/pass?>word:and more".encode()).decode()
        outcome = Outcome("succeeded", result={"authorization": f"Basic {encoded}"})
        scrubbed = secrets.scrub_outcome(outcome, using(assign, "K")).result["authorization"]
        assert "[secret K]" in scrubbed
        assert len(scrubbed) <= len(f"Basic {encoded}") - 14


def test_what_a_callee_sends_back_of_a_request_holds_no_secret(run, assign, callee):
    """Headers, user and password of the URL, query, a number in JSON; in data, in headers, and in bytes."""
    values = {"KEY": "s3cret-key", "PW": "p@ss/word", "PIN": "90210777"}
    secrets = Secrets({f"TENAX_SECRET_{name}": value for name, value in values.items()})
    spec = {"url": None, "headers": {"X-Api-Key": None}, "json": None, "method": "POST"}
    slots = (
        (("url",), (f"http://jo:{quote('p@ss/word', safe='')}@{callee.host}/p?k=", {"secret": "KEY"})),
        (("headers", "X-Api-Key"), ({"secret": "KEY"},)),
        (("json",), ({"secret": "PIN"},)),
        (("unused",), ({"secret": "PW"},)),
    )
    assignment = secrets.fill(assign("http", spec, secrets=slots))
    callee.answers = [(204, {}, b"")]
    run("http", assignment.spec)
    _, path, sent, _ = callee.requests[0]
    headers = {name.lower(): value for name, value in sent.items()}
    told = json.dumps({"path": path, "headers": headers, "pin": 90210777, "pins": [90210777]}).encode()
    for kind in ("application/json", "text/plain", "application/octet-stream"):
        body = told if kind != "application/octet-stream" else b"\xff\xfe" + told
        callee.answers = [(200, {"content-type": kind, "x-echo": headers["x-api-key"]}, body)]
        outcome = secrets.scrub_outcome(run("http", assignment.spec), assignment)
        told_back = repr(outcome)
        assert "[secret KEY]" in told_back
        assert "[secret PIN]" in told_back
        for value in (*values.values(), headers["authorization"].split()[1], "p%40ss%2Fword"):
            assert value not in told_back


@pytest.mark.parametrize(
    ("value", "spec"),
    [
        ("s3cret\n", {"url": "http://127.0.0.1:9/", "headers": {"X": "s3cret\n"}}),
        ("p\xe4ssw\xf6rt\n", {"url": "http://127.0.0.1:9/", "headers": {"X": "p\xe4ssw\xf6rt\n"}}),
        ("S3cretHost", {"url": "http://S3cretHost.invalid/"}),
        ("S3cret/Path+x", {"url": "http://no-such-host.invalid/S3cret/Path+x/y"}),
        ("p@ss/word", {"url": "http://jo:p%40ss%2fword@no-such-host.invalid/"}),
        ("s3cret port", {"url": "http://h:s3cret port/"}),
        ("S3cret", {"url": "S3cret://h/"}),
    ],
)
def test_what_the_client_says_of_a_request_that_fails_holds_no_secret(run, assign, value, spec):
    secrets = Secrets({"TENAX_SECRET_K": value})
    outcome = run("http", spec)
    assert outcome.status == "failed"
    told = repr(secrets.scrub_outcome(outcome, using(assign, "K"))).lower()
    for form in (value, value.strip(), quote(value), repr(value.strip().encode())[2:-1]):
        assert form.lower() not in told


def test_the_receipt_of_an_async_step_is_scrubbed_even_where_there_are_no_secrets(assign):
    url = "http://t/v1/callbacks/7/1/2/receipt-1?step=s"
    sent_back = Outcome("accepted", result={"headers": {"Tenax-Callback-Url": url}, "receipt-1": "receipt-1"})
    failed = Outcome("failed", facts=Facts(message=f"cannot reach {url}"))
    scrub = Secrets({}).scrub_outcome
    an_async = assign("http", {"async": {}}, callback=url)
    assert "receipt-1" not in repr(scrub(sent_back, an_async))
    assert "receipt-1" not in repr(scrub(failed, an_async))
    assert scrub(sent_back, assign("http", {})) is sent_back, (
        "elsewhere it opens nothing, and may be a key of its own"
    )


def test_tracebacks_for_the_log_are_scrubbed(assign):
    error = ValueError("called with production")
    assert "ValueError: called with [secret OTHER]" in Secrets(ENVIRONMENT).scrub_traceback(
        error, using(assign)
    )
