"""Lessons from tasks, patterns of tools that led to success, and tunings of recall."""
