"""Says what requests and responses look like, for the routes and for the OpenAPI description."""
