"""Translates the files of other systems into workflow files, and reports what it understood, changed and left out."""
