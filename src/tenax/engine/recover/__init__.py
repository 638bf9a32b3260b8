"""Finds work that has expired, is due, or was left behind, and handles it."""
