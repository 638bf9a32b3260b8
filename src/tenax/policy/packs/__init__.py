"""Checks the files of a pack, and binds the steps of a workflow to the actions that they name."""
