"""Maintenance of the whole store, in small steps that resume and are undone."""
