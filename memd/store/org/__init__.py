"""Organisational facts, their log, and the graph of statements."""
