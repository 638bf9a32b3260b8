"""What to do next: facts in, a decision with its reasons out. No clock, no chance, no IO."""
