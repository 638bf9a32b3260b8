"""Shows executions, explains decisions and checks history. Writes nothing."""
