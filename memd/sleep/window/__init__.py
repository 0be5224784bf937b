"""Assistants' context windows: what is said of them, and when one calls for a nap."""
