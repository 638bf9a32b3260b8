"""Builds workflow files: names, templates, policies, steps, and their YAML."""
