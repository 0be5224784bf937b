"""Sessions, their messages and context windows, and what their prompts were given."""
