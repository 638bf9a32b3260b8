"""Carries out what no worker runs: sleeps, waits, children, signals and callbacks."""
