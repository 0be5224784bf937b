"""Naps and nights, context windows, and the wiki."""
