"""Attacks, kills, delays and watches servers."""
