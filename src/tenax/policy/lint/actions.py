"""Looks at what a step does: requests that are repeated, commands, and secrets in plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from tenax.policy.lint.rule import Fault, rule
from tenax.policy.lint.subject import LintSubject, texts_in

_NOT_IDEMPOTENT = frozenset(("POST", "PATCH"))
_SECRET_NAMES = re.compile(
    r"(^|[_-])(password|passwd|secret|token|api[_-]?key|apikey|authorization|private[_-]?key)$", re.IGNORECASE
)
_SECRET_TEXTS = (
    ("a key of AWS", re.compile(r"\bAKIA[0-9A-Z]{16}\b")),
    ("a private key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")),
    ("a token of GitHub", re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36}\b")),
    ("a token of Slack", re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}")),
)
_RAW = re.compile(r"\{\{[^{}]*\|\s*raw\s*\}\}")


@rule(
    "TX501",
    "warning",
    "a request that is not idempotent and may be repeated",
    why="A POST whose answer was lost may have been carried out, and is then carried out twice. Each attempt sends the same `Idempotency-Key`, which helps only if the service knows it.",
    remedy="if the service knows `Idempotency-Key`, say so: `# tenax: ignore TX501 -- it does`; otherwise use PUT or `retry: false`",
    wrong="  - {step: pay, type: http, method: POST, url: 'http://a.test', retry: {max_attempts: 3}}",
    right="  - {step: pay, type: http, method: PUT, url: 'http://a.test', retry: {max_attempts: 3}}",
)
def repeated_request(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        method = str(one.step.spec.get("method") or "GET").upper()
        if one.step.type == "http" and method in _NOT_IDEMPOTENT and one.is_retried:
            yield (
                one.at("method"),
                f"{one.name} sends a {method} again after a failure, though the first may have been carried out",
            )


@rule(
    "TX502",
    "warning",
    "`| raw` in a command",
    why="Without quoting, the value becomes part of the program: whoever gives the input can run commands.",
    remedy="remove `| raw`, so that the value stays one word",
    wrong="name: example\ninput: {who: {type: string}}\nworkflow:\n  - {step: greet, type: process, command: 'echo {{ input.who | raw }}'}",
    right="name: example\ninput: {who: {type: string}}\nworkflow:\n  - {step: greet, type: process, command: 'echo {{ input.who }}'}",
)
def raw_command(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        command = one.step.spec.get("command")
        if isinstance(command, str) and _RAW.search(command):
            yield one.at("command"), f"the command of {one.name} takes a value in without quoting it"


@rule(
    "TX503",
    "error",
    "a secret in plain text",
    why="The file is stored, shown and logged. Whoever reads it has the secret.",
    remedy="take it from the worker: `{{ secret.NAME }}`",
    wrong="  - {step: load, type: http, url: 'http://a.test', headers: {Authorization: 'Bearer 0123456789abcdef'}}",
    right="  - {step: load, type: http, url: 'https://a.test', headers: {Authorization: 'Bearer {{ secret.TOKEN }}'}}",
)
def plain_secret(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        for path, text in texts_in(dict(subject.raw_step(one)), one.path):
            if "compensate" in path[len(one.path) :]:
                continue  # it is a step of its own
            what = _secret_in(path, text)
            if what is not None:
                yield path, f"{one.name} has {what} in plain text"


@rule(
    "TX504",
    "warning",
    "a request without TLS to another host",
    why="Everybody between the worker and the host can read and change the request, its headers included.",
    remedy="use `https`",
    wrong="  - {step: load, type: http, url: 'http://api.example.com/orders', headers: {Authorization: 'Bearer {{ secret.TOKEN }}'}}",
    right="  - {step: load, type: http, url: 'https://api.example.com/orders', headers: {Authorization: 'Bearer {{ secret.TOKEN }}'}}",
)
def without_tls(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        url = one.step.spec.get("url")
        if one.step.type != "http" or not isinstance(url, str) or not _is_open(url):
            continue
        if any("secret." in text for _, text in texts_in(dict(one.step.spec))):
            yield one.at("url"), f"{one.name} sends a secret to {_host_of(url)} without TLS"


def _host_of(url: str) -> str:
    return urlsplit(url).hostname or "a host"


def _is_open(url: str) -> bool:
    if not url.lower().startswith("http://") or "{{" in url.split("/", 3)[2]:
        return False
    host = _host_of(url)
    return host not in ("localhost", "127.0.0.1", "::1") and not host.endswith(
        (".internal", ".local", ".svc")
    )


def _secret_in(path: tuple[str | int, ...], text: str) -> str | None:
    """Returns what a text gives away, in words. Returns None if it seems harmless."""
    for what, pattern in _SECRET_TEXTS:
        if pattern.search(text):
            return what
    if "{{" in text or not text.strip():
        return None
    if "://" in text and "@" in text:
        user, _, password = urlsplit(text).netloc.rpartition("@")[0].partition(":")
        return "a password in an address" if user and password else None
    names = [str(key) for key in path if isinstance(key, str)]
    if len(names) > 1 and _SECRET_NAMES.search(names[-1]) and len(text) >= 8:
        return f"the value of `{names[-1]}`"
    return None
