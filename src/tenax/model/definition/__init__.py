"""Defines a workflow: its steps, its children and its inputs."""
