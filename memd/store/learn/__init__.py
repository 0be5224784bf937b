"""Lessons of tasks, patterns of tools that worked, and tunings of recall."""
