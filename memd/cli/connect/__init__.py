"""Connecting assistants, diagnosing connections, and the commands that assistants run."""
