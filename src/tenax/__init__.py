"""Tenax."""
