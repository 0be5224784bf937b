"""Verification that what is in the file is what was written."""
