"""Defines packs: folders of action files, their content and its hash, and what a step's reference to an action means."""
