"""Tasks that tests submit."""
