"""Translates the workflows of Argo."""
