"""Organisational memory: facts and their history, access, the graph."""
