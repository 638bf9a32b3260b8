"""Reads workflow files, with the place and a remedy for each mistake."""
