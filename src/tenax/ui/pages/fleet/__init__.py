"""Shows workers and queues, and acts on them."""
