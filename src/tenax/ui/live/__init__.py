"""Updates open pages: one rendering for all who look at the same page, sent as server-sent events."""
