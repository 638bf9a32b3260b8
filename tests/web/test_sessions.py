"""Tests the cookies of the dashboard, and the codes that sign in once."""

from __future__ import annotations

import pytest

from tenax.web.sessions import SESSION_SECONDS, Sessions
from tenax.web.sign_in_codes import AGAIN_SECONDS, CODE_SECONDS, MOST_CODES, SignInCodes


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sessions(clock: Clock) -> Sessions:
    return Sessions(lambda: b"secret of the database", clock=clock)


def header(sessions: Sessions, value: str) -> str:
    return f"other=1; {sessions.cookie_name}={value}"


def test_a_cookie_is_read_as_it_was_made_also_by_another_server(sessions, clock):
    session = sessions.start(7)
    other = Sessions(lambda: b"secret of the database", clock=clock)
    assert other.read(header(sessions, sessions.cookie(session))) == session
    assert session.token_id == 7


def test_a_session_ends(sessions, clock):
    cookies = header(sessions, sessions.cookie(sessions.start(7)))
    clock.now += SESSION_SECONDS - 1
    assert sessions.read(cookies) is not None
    clock.now += 1
    assert sessions.read(cookies) is None


def test_a_cookie_that_was_changed_or_is_of_another_database_is_no_session(sessions, clock):
    value = sessions.cookie(sessions.start(7))
    assert value.startswith("7.")
    stranger = Sessions(lambda: b"another secret", clock=clock)
    assert stranger.cookie_name != sessions.cookie_name
    for wrong in (f"8{value[1:]}", value[:-1], f"{value}0", "", ".", "7", stranger.cookie(stranger.start(7))):
        assert sessions.read(header(sessions, wrong)) is None
    for cookies in ("", "=", "a=b=c; ;", f"{sessions.cookie_name}", f"x{header(sessions, value)}"[:20]):
        assert sessions.read(cookies) is None


def test_each_session_has_a_form_token_of_its_own(sessions):
    first, second = sessions.start(7), sessions.start(7)
    made = {sessions.form_token(one) for one in (first, second, None)}
    assert len(made) == 3
    assert sessions.form_token(first) == sessions.form_token(first)


def test_a_code_is_taken_once(clock):
    codes = SignInCodes(clock=clock)
    code = codes.make(7)
    assert codes.take(f"{code}x") is None
    assert codes.take(code) == 7
    assert codes.take(code) is None


def test_the_page_that_has_used_a_code_may_send_it_again_for_a_while(clock):
    codes = SignInCodes(clock=clock)
    code = codes.make(7)
    assert codes.take(code, "page") == 7
    assert codes.take(code, "other") is None
    assert codes.take(code) is None
    clock.now += AGAIN_SECONDS - 1
    assert codes.take(code, "page") == 7
    clock.now += 1
    assert codes.take(code, "page") is None


def test_a_code_that_is_given_back_is_good_for_any_page(clock):
    codes = SignInCodes(clock=clock)
    code = codes.make(7)
    codes.take(code, "page")
    codes.give_back(code)
    assert codes.take(code, "other") == 7
    assert codes.take(code, "page") is None


def test_a_code_expires(clock):
    codes = SignInCodes(clock=clock)
    early, late = codes.make(7), codes.make(7)
    clock.now += CODE_SECONDS - 1
    assert codes.take(early) == 7
    clock.now += 1
    assert codes.take(late) is None


def test_old_codes_make_room(clock):
    codes = SignInCodes(clock=clock)
    first = codes.make(1)
    made = [codes.make(2) for _ in range(MOST_CODES)]
    assert codes.take(first) is None
    assert codes.take(made[0]) == 2
