"""Opens pages in a real browser, and plays the worker whose attempts they show."""
