"""What users import: tasks, outcomes and clients."""
