"""Assistants' context windows: what is known of them, and when one triggers a nap."""
