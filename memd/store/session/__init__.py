"""Sessions, their messages, windows, and what their prompts gave."""
