"""Starts, shows, follows and controls executions."""
