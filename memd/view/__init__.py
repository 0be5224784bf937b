"""Render stored texts safely for prompts and terminals. Every text that memd shows passes here.

Pure functions, standard library only. Stored texts are never changed.
"""
