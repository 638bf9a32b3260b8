"""Carries out commands on the database itself, or on a server over HTTP."""
