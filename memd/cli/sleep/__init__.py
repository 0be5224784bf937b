"""Naps and nights as a person meets them, and the wiki that they keep."""
