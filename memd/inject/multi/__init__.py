"""Hierarchical retrieval: a supervisor and its workers (SPEC 14)."""
