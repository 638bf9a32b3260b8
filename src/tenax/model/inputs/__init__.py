"""Checks inputs against their schemas, and bounds what such a check may cost."""
