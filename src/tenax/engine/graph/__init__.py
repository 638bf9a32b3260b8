"""Takes the graph of an execution onward when attempts and steps have ended. Knows no verb."""
