"""Shows what the server has measured."""
