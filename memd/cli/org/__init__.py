"""Organisational memory: facts, history, proposals, the graph, the owner's signature."""
