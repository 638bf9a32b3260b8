"""Tests where a quoted word may stand in a shell text, and how a real shell reads it there."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tenax.policy.expressions.shell_words import MARK, misplaced_words, quote_word

GOOD = [
    "echo @",
    "echo a@b --x=@ @@",
    "X=@ cmd",
    "echo 'it' \"is\" @",
    "echo 'a'@\"b\"",
    "echo $(cat @) `date` @",
    'echo "$(cat @)"',
    'echo "$(echo "$(cat @)")" @',
    "(cd @ && ls) | grep @",
    "echo ${HOME} @ ${X:-'}'} @",
    'echo "${X:-it\'s}" @',
    "echo $((1 + (2 << 3))) @",
    "echo $((((1)))) @",
    "echo a#b @",
    "# comment\necho @",
    "cat <<EOF\nplain ' text\nEOF\necho @",
    "cat <<-'E O'\n\tit's\n\tE O\necho @",
    "cat <<A <<B\n'\nA\n\"\nB\necho @",
    "cat <<E\n${HOST} $(date -u) $X\nE\necho @",
    "cat <<'E'\n$(\n\\\nE\necho @",
    "cat <<< @",
    "echo \\' @",
    "echo \\\\@",
    "case @ in a) echo @;; esac",
    "(case x in a) echo @;; esac)",
    "echo @ > out; cmd @>out",
    "if [ @ = x ]; then echo @; fi",
    "f() { echo @; }; f",
    'echo "a\\"b" @',
    "echo $'a' @",
    "echo $X@",
]  # fmt: skip
BAD = [
    ("echo '@'", "inside single quotes"),
    ('echo "@"', "inside double quotes"),
    ('echo "a \\" @"', "inside double quotes"),
    ("echo `cat @`", "inside backquotes"),
    ('echo "`cat @`"', "inside backquotes"),
    ("echo ${X:-@}", "inside ${...}"),
    ('echo "${X:-@}"', "inside ${...}"),
    ("echo $((1 + @))", "inside arithmetic"),
    ("((x = @))", "inside arithmetic"),
    ("echo \\@", "right after a backslash"),
    ("echo $@", "right after a $"),
    ("echo # @", "in a comment"),
    ("# @", "in a comment"),
    ("echo a;# @", "in a comment"),
    ("cat <<EOF\n@\nEOF\n", "in a here-document"),
    ("cat <<'EOF'\n@\nEOF\n", "in a here-document"),
    ("cat <<EOF\n$(cat @)\nEOF\n", "in a here-document"),
    ("cat <<-EOF\n\t@\n\tEOF\n", "in a here-document"),
    ("cat <<EOF\nno end @\n", "in a here-document"),
    ("cat <<@\nx\n", "in the word that ends a here-document"),
    ("echo @ 'unclosed", "in a text whose quotes or brackets do not end"),
    ("echo $'it\\' @", "where the quotes cannot be followed"),
    ("echo $(() @))", "where the quotes cannot be followed"),
    ("cat <<E\n\\\nE\necho @", "where the quotes cannot be followed"),
    ("cat <<E\n$(\nE\necho @", "where the quotes cannot be followed"),
    ('"$(case a in a) echo "@" ;; esac)"', "where the quotes cannot be followed"),
]
HOSTILE = ["; touch hit", "$(touch hit)", "`touch hit`", "' ; touch hit; '", '" ; touch hit; "', "\ntouch hit\n", "\\", "a b", "", "*", "&", "#"]  # fmt: skip


@pytest.mark.parametrize("text", GOOD)
def test_where_the_shell_reads_code_a_word_may_stand(text):
    assert set(misplaced_words(text.replace("@", MARK))) == {None}


@pytest.mark.parametrize(("text", "place"), BAD)
def test_elsewhere_it_may_not(text, place):
    assert misplaced_words(text.replace("@", MARK)) == [place]


def test_each_word_has_its_own_answer():
    text = "echo @ '@' \"$(ls @)@\" @".replace("@", MARK)
    found = misplaced_words(text)
    assert found == [None, "inside single quotes", None, "inside double quotes", None]


SHELLS = ["sh", "bash"]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("value", HOSTILE)
def test_a_word_stays_one_word_in_a_real_shell(shell, value, tmp_path):
    for pattern in (
        "printf '<%s>' a@b c",
        'x="$(printf "<%s>" @)"; printf %s "$x"',
        "X=@; printf '<%s>' \"$X\"",
    ):
        command = pattern.replace("@", quote_word(value))
        ended = subprocess.run(
            [shell, "-c", command], capture_output=True, text=True, cwd=tmp_path, check=True
        )
        assert value.rstrip("\n") in ended.stdout or value.endswith("\n")
        assert not (tmp_path / "hit").exists()


@pytest.mark.parametrize("shell", SHELLS)
def test_a_number_before_a_redirection_stays_a_word(shell, tmp_path):
    command = f"echo {quote_word('2', 'echo ', '>out')}>out"
    subprocess.run([shell, "-c", command], cwd=tmp_path, check=True)
    assert (tmp_path / "out").read_text() == "2\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_nor_does_a_word_name_a_variable_or_set_one(shell, tmp_path):
    named = f"XY=hit; X=x; echo $X{quote_word('Y', '$X')}"
    assert subprocess.run([shell, "-c", named], capture_output=True, text=True, check=True).stdout == "xY\n"
    sets = f"{quote_word('Y=hit')} env"
    assert subprocess.run([shell, "-c", sets], capture_output=True, check=False).returncode == 127


def test_harmless_words_stay_as_they_are():
    assert [quote_word(text) for text in ("5", "a.b/c-d", "x y", "")] == ["5", "a.b/c-d", "'x y'", "''"]


PIECES = st.lists(
    st.sampled_from(["'", '"', "`", "$(", ")", "(", "${X:-", "}", "$((", "))", "\\", "$", "#", "\n", " ", "<<E\n", "\nE\n", "a", ";", "case a in a)", ";; esac", MARK]),
    max_size=14,
)  # fmt: skip


@given(pieces=PIECES)
@example(["echo ", '"', "$(", "case a in a)", '"', MARK, '"', ";; esac", ")", '"'])
def test_no_accepted_word_is_ever_run(pieces):
    """Whatever the text is, no word is read as code in a place where words may stand. `-n` reads without running."""
    text = "".join(pieces)
    places = misplaced_words(text)
    assert len(places) == text.count(MARK)
    if not places or any(places):
        return
    hostile = quote_word("'\"`$(kill -9 $$)\n;kill -9 $$;#\\")
    for shell in SHELLS:
        ended = subprocess.run(
            [shell, "-c", f"PATH=; {text.replace(MARK, hostile)}"],
            capture_output=True,
            timeout=10,
            check=False,
        )
        assert ended.returncode != -9
