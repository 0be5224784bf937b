"""Lessons of tasks and patterns that worked."""
