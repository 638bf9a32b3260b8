"""Says what a workflow is: its steps, its children, its inputs."""
