"""Decides which worker gets which item, how a claim is split into shares, and how healthy a worker is."""
