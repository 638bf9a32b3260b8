"""Takes new executions: reads and resolves their definitions, and writes a batch in one transaction."""
