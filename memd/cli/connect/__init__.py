"""Assistants: connected, looked over, and the commands that they start."""
