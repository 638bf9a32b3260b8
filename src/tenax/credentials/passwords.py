"""Hides the passwords of URLs, because output and logs may be kept."""

from __future__ import annotations

import re

_AFTER_USER = re.compile(r"(://[^/?#:]*):[^/?#]*@")
_AS_PARAMETER = re.compile(r"([?&](?:ssl)?password=)[^&#]*", re.IGNORECASE)


def without_password(url: str) -> str:
    """Returns the URL of a server or a database with `***` in the place of its password."""
    return _AS_PARAMETER.sub(r"\1***", _AFTER_USER.sub(r"\1:***@", url))
