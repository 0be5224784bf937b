"""Memories: add, search, edit, delete, restore, forget, share; prompts, lessons, tuning."""
