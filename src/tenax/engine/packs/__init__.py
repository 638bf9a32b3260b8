"""Installs packs of actions, finds what a reference to an action means now, and gives workers the contents."""
