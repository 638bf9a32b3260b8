"""Tests the words of templates."""

import pytest

from tenax.ui.words import with_code


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("raise `max_attempts` (it is 2)", "raise <code>max_attempts</code> (it is 2)"),
        ("`<b>` and <i>", "<code>&lt;b&gt;</code> and &lt;i&gt;"),
        ("an odd ` stays & is escaped", "an odd ` stays &amp; is escaped"),
        ("", ""),
    ],
)
def test_what_stands_between_backticks_is_code(text, html):
    assert str(with_code(text)) == html
