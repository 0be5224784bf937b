"""Verification that the file has exactly what was written."""
