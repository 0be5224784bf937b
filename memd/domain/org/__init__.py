"""Organisational memory: facts and their past, who may do what, the graph."""
