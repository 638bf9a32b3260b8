"""What `@task` is made of: options, the definition of a task, calls, handles and the application they belong to."""
