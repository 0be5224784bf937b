"""Consolidation of memories: which are selected, and how a group is condensed (SPEC 16)."""
