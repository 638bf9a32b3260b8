"""Gives ready items to the workers that wait for them, and renders their inputs."""
