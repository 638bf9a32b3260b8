"""Decides what happens next: facts in, a decision with its reasons out. Without a clock, random numbers or IO."""
